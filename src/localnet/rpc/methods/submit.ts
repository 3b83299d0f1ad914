/** Methods that take a transaction: send, simulate, and compute its fee. */
import { base58 } from '@scure/base'
import { encodeBase58 } from '../../../core/encoding/base58.ts'
import { resolve } from '../../bank/evaluate.ts'
import { readBudget, signatureFee } from '../../bank/fees.ts'
import { badSignature } from '../../bank/run.ts'
import { describeFailure } from '../../transaction/failure.ts'
import { signaturesHold } from '../../transaction/signature.ts'
import type { Transaction } from '../../transaction/wire.ts'
import { decodeMessage, decodeTransaction, packetBytes, packetBytesV1 } from '../../transaction/wire.ts'
import { invalidParams, RpcError } from '../wire/errors.ts'
import { type Methods, method, type Node, readBearing, withContext } from '../wire/node.ts'
import {
  type Config,
  readBoolean,
  readChoice,
  readConfig,
  readOptionalInteger,
  readStrictCommitment,
  readText,
} from '../wire/params.ts'
import { formatSimulation, readSimulationFormat } from './simulation.ts'

type WireEncoding = 'base58' | 'base64'

const maxWireText = Math.ceil((packetBytesV1 * 8) / 5)

function readTransaction(value: unknown, encoding: WireEncoding): Transaction {
  const bytes = readWire(readText(value), encoding)
  const limit = bytes[0] === 0x81 ? packetBytesV1 : packetBytes
  if (bytes.length > limit)
    throw invalidParams(`decoded ${typeName} too large: ${bytes.length} bytes (max: ${limit} bytes)`)
  const decoded = decodeTransaction(bytes)
  if (decoded.kind === 'malformed') throw invalidParams(`failed to deserialize ${typeName}: ${decoded.reason}`)
  if (decoded.kind === 'unsanitary') throw invalidTransaction('SanitizeFailure')
  return decoded.value
}

const typeName = 'solana_transaction::versioned::VersionedTransaction'

function invalidTransaction(failure: string): RpcError {
  return invalidParams(`invalid transaction: ${describeFailure(failure)}`)
}

function readWire(text: string, encoding: WireEncoding): Uint8Array {
  // The decoder takes quadratic time, so the length is checked first.
  if (text.length > maxWireText) {
    throw invalidParams(
      `${encoding} encoded ${typeName} too large: ${text.length} bytes (max: encoded/raw ${maxWireText}/${packetBytesV1})`,
    )
  }
  try {
    if (encoding === 'base58') return base58.decode(text)
    if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) throw new Error('not base64')
    return new Uint8Array(Buffer.from(text, 'base64'))
  } catch (error) {
    throw invalidParams(`invalid ${encoding} encoding: ${error instanceof Error ? error.message : 'unreadable'}`)
  }
}

function readWireEncoding(config: Config): WireEncoding {
  return readChoice<WireEncoding>(config['encoding'], ['base58', 'base64'], 'base58')
}

function send(params: readonly unknown[], node: Node): string {
  const config = readConfig(params[1])
  const transaction = readTransaction(params[0], readWireEncoding(config))
  const skipPreflight = readBoolean(config, 'skipPreflight', false)
  const wanted = readStrictCommitment(config['preflightCommitment'], 'finalized')
  const commitment = skipPreflight ? 'processed' : wanted
  const { slot } = readBearing({ commitment, minContextSlot: config['minContextSlot'] }, node)
  const maxRetries = readOptionalInteger(config, 'maxRetries')
  checkAddresses(transaction, slot, node)
  if (!skipPreflight) preflight(transaction, slot, node)
  node.send(transaction, maxRetries)
  return encodeBase58(transaction.signatures[0] as Uint8Array)
}

/** Lookup tables and locks are checked even without a preflight. */
function checkAddresses(transaction: Transaction, slot: number, { bank }: Node): void {
  const resolved = resolve(transaction.message, bank.sceneAt(slot, true))
  if ('kind' in resolved) throw invalidParams(`invalid transaction: ${describeFailure(resolved.failure)}`)
}

function preflight(transaction: Transaction, slot: number, { bank }: Node): void {
  const result = signaturesHold(transaction) ? bank.simulate(transaction, slot, false) : badSignature
  const failure = 'kind' in result ? result.failure : result.outcome.failure
  if (failure === undefined) return
  const data = formatSimulation(transaction, result, { accounts: undefined, innerInstructions: false }, bank, slot)
  throw new RpcError(-32002, `Transaction simulation failed: ${describeFailure(failure)}`, data)
}

function simulate(params: readonly unknown[], node: Node): unknown {
  const config = readConfig(params[1])
  const transaction = readTransaction(params[0], readWireEncoding(config))
  const sigVerify = readBoolean(config, 'sigVerify', false)
  const replace = readBoolean(config, 'replaceRecentBlockhash', false)
  if (sigVerify && replace) throw invalidParams('sigVerify may not be used with replaceRecentBlockhash')
  const { slot } = readBearing(config, node)
  const format = readSimulationFormat(config)
  checkAddresses(transaction, slot, node)
  const forged = sigVerify && !signaturesHold(transaction)
  const result = forged ? badSignature : node.bank.simulate(transaction, slot, replace)
  const blockhash = node.bank.latestBlockhash(slot)
  return withContext(slot, {
    ...formatSimulation(transaction, result, format, node.bank, slot),
    ...(replace
      ? { replacementBlockhash: { blockhash, lastValidBlockHeight: node.bank.lastValidHeight(blockhash, slot) } }
      : {}),
  })
}

function feeForMessage(params: readonly unknown[], node: Node): unknown {
  const text = readText(params[0])
  const bytes = readWire(text, 'base64')
  const decoded = decodeMessage(bytes)
  if (decoded.kind === 'malformed')
    throw invalidParams(`failed to deserialize solana_message::versions::VersionedMessage: ${decoded.reason}`)
  if (decoded.kind === 'unsanitary') throw invalidTransaction('SanitizeFailure')
  const { slot } = readBearing(readConfig(params[1]), node)
  const message = decoded.value
  const budget = readBudget(message)
  const known =
    node.bank.lastValidHeight(message.blockhash, slot) !== undefined || node.bank.livesByNonce(message, slot)
  const fee = 'failure' in budget || !known ? null : signatureFee(message) + budget.priorityFee
  return withContext(slot, fee)
}

export const submitMethods: Methods = {
  sendTransaction: method(1, send),
  simulateTransaction: method(1, simulate),
  getFeeForMessage: method(1, feeForMessage),
}
