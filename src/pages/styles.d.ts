/** Vite bundles style sheets. Scripts import no values from them. */
declare module '*.css'

/** The address of an image. */
declare module '*.svg' {
  const address: string
  export default address
}
