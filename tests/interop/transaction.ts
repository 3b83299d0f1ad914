/** Reads submitted transactions with the peers' own decoder. */
import { decompileTransactionMessage, getCompiledTransactionMessageDecoder, getTransactionDecoder } from '@solana/kit'
import type { Reading } from '../../src/dialects/dialect.ts'

export interface DecodedTransaction {
  readonly feePayer: string
  readonly blockhash: string
  /** Addresses that must sign, and whether they have. */
  readonly signers: Readonly<Record<string, boolean>>
  readonly memos: readonly string[]
}

const memoProgram = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'

export function decodeCredential(reading: Reading | undefined): DecodedTransaction {
  if (reading?.kind !== 'credential') throw new Error(`not a credential: ${JSON.stringify(reading)}`)
  const { messageBytes, signatures } = getTransactionDecoder().decode(reading.credential.transaction)
  const compiled = getCompiledTransactionMessageDecoder().decode(messageBytes)
  const { feePayer, instructions } = decompileTransactionMessage(compiled)
  const memos = instructions.filter(({ programAddress }) => programAddress === memoProgram)
  return {
    feePayer: feePayer.address,
    blockhash: compiled.lifetimeToken,
    signers: Object.fromEntries(
      Object.entries(signatures).map(([address, signature]) => [address, signature !== null]),
    ),
    memos: memos.map(({ data }) => Buffer.from(data ?? []).toString()),
  }
}
