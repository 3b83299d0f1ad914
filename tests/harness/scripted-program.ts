/** A program of the attacker's on the chain, and the orders it takes. See marionette.ts for what they look like in bytes. */
import {
  type AccountMeta,
  AccountRole,
  type Address,
  createNoopSigner,
  getProgramDerivedAddress,
  type Instruction,
  isSignerRole,
  isWritableRole,
  type TransactionSigner,
} from '@solana/kit'
import type { Intercept } from '../../src/localnet/rpc/wire/faults.ts'
import { type LocalnetFixture, newSigner } from './localnet-fixture.ts'
import { assembleProgram } from './sbpf.ts'
import { writeScriptedProgram } from './scripted-program-code.ts'

export interface ScriptedProgram {
  readonly address: Address
  /** An address that only the puppet can sign for. */
  readonly vault: TransactionSigner
  /** Runs instructions as calls of the puppet, all under one top-level instruction, and signs for its vault. */
  act(steps: readonly Step[], more?: readonly TransactionSigner[], head?: Head): Instruction
}

/** A call; or lamports of an account that the puppet owns. */
export type Step = Instruction | { readonly from: string; readonly to: string; readonly lamports: bigint }

/** What stands before its orders: accounts, and bytes that it skips. */
export interface Head {
  readonly accounts: readonly AccountMeta[]
  readonly data: Uint8Array
}

/** With orders of its own it follows only these. */
export async function deployScriptedProgram(
  world: LocalnetFixture,
  at?: string,
  skip = 0,
  ownOrders?: Uint8Array,
): Promise<ScriptedProgram> {
  const id = (at ?? (await newSigner()).address) as Address
  world.localnet.setProgram(
    id,
    assembleProgram((assembler) => writeScriptedProgram(assembler, skip, ownOrders)),
  )
  const [vault, bump] = await getProgramDerivedAddress({ programAddress: id, seeds: [] })
  return {
    address: id,
    vault: createNoopSigner(vault),
    act: (steps, more = [], head = { accounts: [], data: new Uint8Array() }) =>
      compose({ id, vault, bump }, steps, more, head),
  }
}

interface Meta {
  readonly address: Address
  writable: boolean
  signer: boolean
  by: TransactionSigner | undefined
}

interface Identity {
  readonly id: Address
  readonly vault: Address
  readonly bump: number
}

function compose(
  { id, vault, bump }: Identity,
  steps: readonly Step[],
  more: readonly TransactionSigner[],
  head: Head,
): Instruction {
  const metas: Meta[] = head.accounts.map(({ address, role }) => ({
    address,
    writable: isWritableRole(role),
    signer: isSignerRole(role),
    by: undefined,
  }))
  const positionOf = (address: string, writable = false, signer = false, by?: TransactionSigner): number => {
    let at = metas.findIndex((meta) => meta.address === address)
    if (at < 0) at = metas.push({ address: address as Address, writable: false, signer: false, by: undefined }) - 1
    const meta = metas[at] as Meta
    meta.writable ||= writable
    // The puppet signs for its vault itself: in the transaction it is no signer.
    meta.signer ||= signer && address !== vault
    meta.by ??= by
    return at
  }
  const data = steps.flatMap((step) => {
    if ('from' in step) {
      const units = new Uint8Array(new BigUint64Array([step.lamports]).buffer)
      return [2, positionOf(step.from, true), positionOf(step.to, true), ...units]
    }
    const { programAddress, accounts = [], data: inner = new Uint8Array() } = step
    const pairs = accounts.flatMap((account) => {
      const [writable, signer] = [isWritableRole(account.role), isSignerRole(account.role)]
      const by = (account as { readonly signer?: TransactionSigner }).signer
      return [positionOf(account.address, writable, signer, by), Number(writable) + 2 * Number(signer)]
    })
    return [1, inner.length, accounts.length, positionOf(programAddress), bump, ...pairs, ...inner]
  })
  for (const party of more) positionOf(party.address, false, true, party)
  return {
    programAddress: id,
    data: Uint8Array.from([...head.data, ...data]),
    accounts: metas.map(({ address, writable, signer, by }) => ({
      address,
      role: roleOf(writable, signer),
      ...(by && signer && { signer: by }),
    })),
  }
}

function roleOf(writable: boolean, signer: boolean): AccountRole {
  if (signer) return writable ? AccountRole.WRITABLE_SIGNER : AccountRole.READONLY_SIGNER
  return writable ? AccountRole.WRITABLE : AccountRole.READONLY
}

/** What a node tells of a transaction, as far as it is changed here. */
interface Told {
  readonly meta: {
    readonly innerInstructions: readonly { index: number; instructions: readonly { stackHeight: number }[] }[]
  }
}

/** A node that does not tell how deep a call is. */
export const withoutHeights: Intercept = (method, _params, answer) => {
  if (method !== 'getTransaction' || !('result' in answer)) return answer
  const result = answer.result as Told
  const innerInstructions = result.meta.innerInstructions.map(({ index, instructions }) => ({
    index,
    instructions: instructions.map(({ stackHeight: _, ...rest }) => rest),
  }))
  return { result: { ...result, meta: { ...result.meta, innerInstructions } } }
}
