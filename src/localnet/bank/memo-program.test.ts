/** Memos cost compute units by their length, as on a cluster. */
import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { encodeBase58 } from '../../core/encoding/base58.ts'
import { emptyAccount } from '../accounts/account.ts'
import { programs } from '../accounts/addresses.ts'
import { readMemoV3 } from '../store/memo-program.ts'
import { buildTransaction, type Call, computeUnitLimit } from '../transaction/build.ts'
import { createKeypair, newSecret } from '../transaction/signature.ts'
import { createVm, type Execution, type Vm } from './vm.ts'

const budgetUnits = 150n
const key = createKeypair(newSecret())
const blockhash = encodeBase58(new Uint8Array(32))
let vm: Vm
beforeAll(async () => {
  vm = await createVm()
  vm.put([[key.address, emptyAccount(programs.system, 10n ** 9n)]])
})

function execute(...calls: readonly Call[]): Execution {
  return vm.execute(buildTransaction(key, calls, blockhash))
}

function memo(length: number, { program = programs.memoV3 as string, signer = false } = {}): Call {
  const accounts = signer ? [{ address: key.address, signer: true, writable: false }] : []
  return { program, accounts, data: Buffer.alloc(length, 'x') }
}

describe('Memo v3', () => {
  it('is the program of the clusters', () => {
    const digest = createHash('sha256').update(readMemoV3()).digest('hex')
    expect(digest).toBe('f520eaf096361abbb9639ea4dc3e5388a87b9330e121f476607b87c46ef67954')
    expect(new Map(vm.genesis).get(programs.memoV3)).toMatchObject({ owner: programs.loaderV2, executable: true })
  })

  it.each([
    [0, 1_382n],
    [16, 7_200n],
    [32, 12_775n],
    [48, 18_594n],
    [64, 24_183n],
  ])('charges a memo of %i characters with %i units', (length, cost) => {
    const { failure, units } = execute(computeUnitLimit(200_000), memo(length))
    expect({ failure, units }).toEqual({ failure: undefined, units: budgetUnits + cost })
  })

  it('fails a transaction whose memo exceeds its compute limit', () => {
    expect(execute(computeUnitLimit(20_000), memo(32)).failure).toBeUndefined()
    expect(execute(computeUnitLimit(20_000), memo(64))).toMatchObject({
      failure: { InstructionError: [1, 'ProgramFailedToComplete'] },
      units: 20_000n,
      changes: [],
    })
  })

  it('charges each signer of a memo', () => {
    const { units } = execute(computeUnitLimit(200_000), memo(64, { signer: true }))
    expect(units).toBeGreaterThan(budgetUnits + 24_183n + 10_000n)
  })
})

it.each([programs.memoV1, programs.memoV4])('the memo program %s needs few units at any length', (program) => {
  const { failure, units } = execute(computeUnitLimit(20_000), memo(64, { program }))
  expect(failure).toBeUndefined()
  expect(units).toBeLessThan(1_000n)
})
