/** Style sheets are taken by Vite, and say nothing to scripts. */
declare module '*.css'

/** The address of a picture. */
declare module '*.svg' {
  const address: string
  export default address
}
