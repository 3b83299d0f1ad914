/**
 * Refuses an unsupported runtime while the modules load. Servers, the gateway and the Node client all load the HTTP
 * transport, which imports this file before undici: undici itself fails to load on an old Node.
 */
import { requireRuntime } from './runtime.ts'

requireRuntime(globalThis)
