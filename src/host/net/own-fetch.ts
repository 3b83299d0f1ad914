/**
 * Loads Node's own `fetch` before the package `undici`.
 *
 * Whichever loads first installs the connections that `fetch` uses. With those of another version, `fetch` refuses
 * requests that state their `Content-Length`, as other Solana libraries do.
 */
void globalThis.Response
