/** SHA-256, for rooms that do not import the library themselves. */
export { sha256 } from '@noble/hashes/sha2.js'
