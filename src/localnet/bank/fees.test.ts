import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { size } from '../../../tests/harness/length.ts'
import { emptyAccount } from '../accounts/account.ts'
import { programs } from '../accounts/addresses.ts'
import { buildTransaction, type Call } from '../transaction/build.ts'
import { createKeypair, type Keypair, newSecret } from '../transaction/signature.ts'
import { decodeTransaction, type Transaction } from '../transaction/wire.ts'
import { readBudget, signatureFee } from './fees.ts'
import { createVm, type Vm } from './vm.ts'

const wealth = 10n ** 18n

describe('fees beside those the VM takes', () => {
  let vm: Vm
  let payer: Keypair
  beforeAll(async () => {
    vm = await createVm()
    payer = createKeypair(newSecret())
    vm.put([[payer.address, emptyAccount(programs.system, wealth)]])
  })

  function transaction(calls: readonly Call[]): Transaction {
    const decoded = decodeTransaction(buildTransaction(payer, calls, programs.system))
    if (decoded.kind !== 'ok') throw new Error(decoded.reason)
    return decoded.value
  }

  const request = (kind: number, value: bigint, length: number): Call => {
    const data = new Uint8Array(1 + length)
    data[0] = kind
    const view = new DataView(data.buffer)
    if (length === 8) view.setBigUint64(1, value, true)
    else view.setUint32(1, Number(value), true)
    return { program: programs.computeBudget, accounts: [], data }
  }

  const aCall: fc.Arbitrary<Call> = fc.oneof(
    fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }).map((units) => request(2, units, 4)),
    fc.bigInt({ min: 0n, max: 10n ** 12n }).map((price) => request(3, price, 8)),
    fc.constantFrom(0n, 1n, 1_000n, 10n ** 9n).map((size) => request(4, size, 4)),
    fc.constantFrom(0n, 1_000n, 32_768n, 33_000n, 65_536n, 300_000n).map((heap) => request(1, heap, 4)),
    fc.nat(255).map((kind) => ({ program: programs.computeBudget, accounts: [], data: Uint8Array.of(kind) })),
    fc
      .constantFrom(programs.memoV3, programs.token, programs.vote, programs.stake, programs.loaderUpgradeable)
      .map((program) => ({
        program,
        accounts: [],
        data: new Uint8Array(),
      })),
  )

  it('agree to the lamport, and so do the reasons to refuse', () => {
    let priced = 0
    let refused = 0
    fc.assert(
      fc.property(fc.array(aCall, { minLength: 1, maxLength: 5 }), (calls) => {
        const built = transaction(calls)
        const budget = readBudget(built.message)
        const result = vm.execute(built.bytes)
        if ('failure' in budget) {
          refused += 1
          expect(result.failure).toEqual(budget.failure)
          return
        }
        if (result.failure !== undefined) return
        const left = result.changes.find(([address]) => address === payer.address)?.[1]?.lamports ?? wealth
        expect(wealth - left).toBe(signatureFee(built.message) + budget.priorityFee)
        if (budget.priorityFee > 0n) priced += 1
      }),
      { numRuns: size(600, 2_000), seed: 42 },
    )
    expect(priced).toBeGreaterThan(20)
    expect(refused).toBeGreaterThan(50)
  })

  it('include the signatures that signature programs check', () => {
    const built = transaction([{ program: programs.ed25519, accounts: [], data: Uint8Array.of(2, 0) }])
    expect(signatureFee(built.message)).toBe(15_000n)
  })
})
