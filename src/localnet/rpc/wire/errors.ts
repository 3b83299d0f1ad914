/** The errors of a validator's RPC: a number, a sentence, and sometimes data. */
import { PaystileError } from '../../../core/errors/paystile-error.ts'

export class RpcError extends PaystileError {
  override readonly name = 'RpcError'
  readonly rpcCode: number
  readonly data: unknown

  constructor(rpcCode: number, message: string, data?: unknown) {
    super('rpc_error', message)
    this.rpcCode = rpcCode
    this.data = data
  }
}

export const parseError = () => new RpcError(-32700, 'Parse error')
export const invalidRequest = () => new RpcError(-32600, 'Invalid request')
export const methodNotFound = () => new RpcError(-32601, 'Method not found')
export const invalidParams = (message: string) => new RpcError(-32602, message)

export const blockNotAvailable = (slot: number) => new RpcError(-32004, `Block not available for slot ${slot}`)
export const slotSkipped = (slot: number) =>
  new RpcError(-32007, `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot`)
export const unsupportedVersion = (version: number) =>
  new RpcError(
    -32015,
    `Transaction version (${version}) is not supported by the requesting client. Please try the request again with the ` +
      `following configuration parameter: "maxSupportedTransactionVersion": ${version}`,
  )
export const minContextSlotNotReached = (slot: number) =>
  new RpcError(-32016, 'Minimum context slot has not been reached', { contextSlot: slot })
