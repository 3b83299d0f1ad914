declare module 'express4' {
  const express: unknown
  export default express
}
