/** Builds the localnet's own transactions: instructions, compiled into a signed legacy transaction. */
import { decodeKey } from '../accounts/account.ts'
import { programs } from '../accounts/addresses.ts'
import type { Keypair } from './signature.ts'

export interface Meta {
  readonly address: string
  readonly signer: boolean
  readonly writable: boolean
}

export interface Call {
  readonly program: string
  readonly accounts: readonly Meta[]
  readonly data: Uint8Array
}

export function buildTransaction(payer: Keypair, calls: readonly Call[], blockhash: string): Uint8Array {
  const metas = mergeMetas([{ address: payer.address, signer: true, writable: true }, ...calls.flatMap(createMetas)])
  const order = (meta: Meta) =>
    meta.address === payer.address ? 0 : 1 + (meta.signer ? 0 : 2) + (meta.writable ? 0 : 1)
  const sorted = metas.sort((left, right) => order(left) - order(right))
  const index = new Map(sorted.map(({ address }, position) => [address, position]))
  const count = (wanted: (meta: Meta) => boolean) => sorted.filter(wanted).length
  const message = Buffer.concat([
    Uint8Array.of(
      count(({ signer }) => signer),
      count(({ signer, writable }) => signer && !writable),
      count(({ signer, writable }) => !signer && !writable),
      sorted.length,
    ),
    ...sorted.map(({ address }) => decodeKey(address)),
    decodeKey(blockhash),
    Uint8Array.of(calls.length),
    ...calls.map(({ program, accounts, data }) =>
      Uint8Array.of(
        index.get(program) ?? 0,
        accounts.length,
        ...accounts.map(({ address }) => index.get(address) ?? 0),
        data.length,
        ...data,
      ),
    ),
  ])
  return Buffer.concat([Uint8Array.of(1), payer.sign(message), message])
}

function createMetas({ program, accounts }: Call): readonly Meta[] {
  return [...accounts, { address: program, signer: false, writable: false }]
}

function mergeMetas(metas: readonly Meta[]): Meta[] {
  const merged = new Map<string, Meta>()
  for (const { address, signer, writable } of metas) {
    const before = merged.get(address)
    merged.set(address, {
      address,
      signer: signer || (before?.signer ?? false),
      writable: writable || (before?.writable ?? false),
    })
  }
  return [...merged.values()]
}

const writable = (address: string): Meta => ({ address, signer: false, writable: true })
const readable = (address: string): Meta => ({ address, signer: false, writable: false })
const signing = (address: string): Meta => ({ address, signer: true, writable: true })

export function transferSol(from: string, to: string, lamports: bigint): Call {
  const data = new Uint8Array(12)
  const view = new DataView(data.buffer)
  view.setUint32(0, 2, true)
  view.setBigUint64(4, lamports, true)
  return { program: programs.system, accounts: [signing(from), writable(to)], data }
}

export function createTokenAccount(
  payer: string,
  account: string,
  wallet: string,
  mint: string,
  tokenProgram: string,
): Call {
  const others = [wallet, mint, programs.system, tokenProgram].map(readable)
  // Instruction 1 accepts an existing account.
  return {
    program: programs.associatedToken,
    accounts: [signing(payer), writable(account), ...others],
    data: Uint8Array.of(1),
  }
}

export function mintTokens(
  mint: string,
  account: string,
  authority: string,
  units: bigint,
  tokenProgram: string,
): Call {
  const data = new Uint8Array(9)
  data[0] = 7
  new DataView(data.buffer).setBigUint64(1, units, true)
  return { program: tokenProgram, accounts: [writable(mint), writable(account), signing(authority)], data }
}

export function computeUnitLimit(units: number): Call {
  const data = new Uint8Array(5)
  data[0] = 2
  new DataView(data.buffer).setUint32(1, units, true)
  return { program: programs.computeBudget, accounts: [], data }
}
