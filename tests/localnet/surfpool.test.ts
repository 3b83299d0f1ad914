/** The localnet answers as an independent chain does: surfpool, whose answers are recorded in `surfpool.json`. */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { type Localnet, startLocalnet } from '../../src/localnet/index.ts'
import { hasSurfpool, machine, startSurfpool } from '../harness/surfpool.ts'
import { compareTranscripts, type Difference, normalize } from './compare.ts'
import { readRecording } from './recording.ts'
import { converse, type Transcript } from './session.ts'

/** Where the two may differ, and why the localnet is the one to keep. */
interface Accepted {
  readonly reason: string
  readonly question?: RegExp
  readonly path: RegExp
}

const accepted: readonly Accepted[] = [
  {
    reason: 'surfpool reports return data that no program set; a validator leaves the field out',
    path: /\.returnData$/,
  },
  {
    reason: 'surfpool leaves the priority fee out of meta.fee, though it takes it',
    question: /^priced as/,
    path: /^\.result\.meta\.fee$/,
  },
  {
    reason: 'surfpool neither takes nor reports the priority fee of a v1 transaction',
    question: /^v1 with a price as/,
    path: /^\.result\.meta\.(fee|postBalances\[0\])$/,
  },
  {
    reason: 'surfpool keeps trailing zeros, and goes through a float; validators trim an exact decimal',
    path: /TokenBalances\[\d+\]\.uiTokenAmount\.(uiAmount|uiAmountString)$/,
  },
  {
    reason: 'surfpool lists a token account after it was closed',
    question: /^unwrap as/,
    path: /^\.result\.meta\.postTokenBalances\.length$/,
  },
  {
    reason: 'surfpool writes rent epoch 0; validators write the largest number once an account is exempt',
    path: /\.rentEpoch$/,
  },
  {
    reason: 'surfpool leaves out what validators of version 4 add to a simulation',
    question: /^(simulates|preflight)/,
    path: /\.(fee|loadedAddresses|(pre|post)(Token)?Balances)$/,
  },
  {
    reason: 'surfpool counts data only; validators add 64 bytes for each account, and the code of programs (SIMD-0186)',
    question: /^(simulates|preflight)/,
    path: /\.loadedAccountsDataSize$/,
  },
  {
    reason: 'surfpool appends the logs to the message, which validators keep in data alone',
    question: /^preflight/,
    path: /^\.error\.message$/,
  },
  {
    reason: 'surfpool answers a bad signature without the data of a failed preflight (agave#8185)',
    question: /^preflight with a forged signature$/,
    path: /^\.error\.data$/,
  },
  {
    reason: 'surfpool always names the version; validators do when the client says which it can read',
    question: /^legacy for an old client$/,
    path: /^\.result\.version$/,
  },
  {
    reason: 'surfpool does not hold back versions the client cannot read, or fails with an internal error (-32015)',
    question: /^(v0 for an old client|v1 for a client of v0|block with v0 refused)$/,
    path: /^\.(error|result)/,
  },
  {
    reason: 'surfpool forgets addresses that were loaded from a table; validators list them',
    question: /^history of payee$/,
    path: /^\.result\.length$/,
  },
  {
    reason: 'new in version 4, and not in surfpool yet (agave#9683)',
    question: /^history/,
    path: /\.transactionIndex$/,
  },
  {
    reason: 'surfpool pays no fees to a leader',
    question: /^block with/,
    path: /^\.result\.rewards\.length$/,
  },
  {
    reason: 'surfpool answers null for a block to come; validators answer -32004',
    question: /^block to come$/,
    path: /^\.(error|result)$/,
  },
  {
    reason: 'both frames are valid zstd; ours is not compressed',
    question: /zstd$/,
    path: /^\.result\.value\.data\[0\]$/,
  },
  {
    reason: 'surfpool puts an error text into the data; validators answer -32600',
    question: /^too long for base58$/,
    path: /^\.(error|result)$/,
  },
  {
    reason: 'other words for the same refusal',
    question: /^balance of (a wallet|nobody)$/,
    path: /^\.error\.(message|data)$/,
  },
  {
    reason: 'surfpool repeats the slot that was asked for instead of its own',
    question: /^future context$/,
    path: /^\.error\.data\.contextSlot$/,
  },
  {
    reason: 'surfpool does not divide the supply by the decimals',
    question: /^supply$/,
    path: /^\.result\.value\.uiAmountString$/,
  },
]

function isAccepted({ question, path }: Difference, { question: wanted, path: place }: Accepted): boolean {
  return (wanted?.test(question) ?? true) && place.test(path)
}

/** surfpool has the code of Memo v4 at the address of v3, which the clusters do not. It needs fewer compute units. */
function installMemoV4({ getAccount, setAccount }: Localnet): void {
  const memoV3 = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'
  const program = getAccount('Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH')?.data.subarray(4) ?? new Uint8Array()
  const data = getAccount(encodeBase58(program))?.data.slice(45)
  const account = getAccount(memoV3)
  // The recorded balance, which is the rent exemption of the smaller program.
  if (account && data) setAccount(memoV3, { ...account, data, lamports: 16_926_720n })
}

let localnetAnswers: Transcript
let differences: readonly Difference[]
const recording = readRecording()

beforeAll(async () => {
  const localnet = await startLocalnet({ slotMs: 20 })
  installMemoV4(localnet)
  try {
    localnetAnswers = normalize(await converse(localnet))
  } finally {
    await localnet.close()
  }
  differences = compareTranscripts(localnetAnswers, recording.transcript)
})

describe('the same conversation with surfpool, as recorded', () => {
  it('is a recording of the version that is installed', () => {
    const { optionalDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
    expect(new Set(Object.values(optionalDependencies))).toEqual(new Set([recording.version]))
  })

  it('asks enough to be worth comparing', () => {
    expect(recording.transcript.size).toBeGreaterThan(200)
    expect([...localnetAnswers.keys()]).toEqual([...recording.transcript.keys()])
  })

  it('gets the same responses, except for known differences', () => {
    expect(differences.filter((difference) => !accepted.some((one) => isAccepted(difference, one)))).toEqual([])
  })

  it.each(accepted)('still needs: $reason', (one) => {
    expect(differences.some((difference) => isAccepted(difference, one))).toBe(true)
  })
})

if (hasSurfpool) {
  it('gets the recorded answers from surfpool itself (else: npm run record:surfpool)', async () => {
    const surfpool = startSurfpool(20)
    try {
      expect(compareTranscripts(normalize(await converse(surfpool)), recording.transcript)).toEqual([])
    } finally {
      surfpool.stop()
    }
  })
} else {
  process.stderr.write(
    `surfpool has no build for ${machine}: the localnet is compared with the recording of surfpool ${recording.version}, ` +
      'and other machines check the recording.\n',
  )
}
