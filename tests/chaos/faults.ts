/** Everything that a node, or what stands before it, does wrong: the rows of the matrix. */
import type { Told as Answer, Behaviour, Question } from '../harness/fake-node.ts'
import type { PaymentCase, Told } from './chain-fixture.ts'

/** What a fault may know of the cell it is in. */
export interface Setting {
  readonly paymentCase: PaymentCase
  /** Resolves when the fault is over. */
  readonly healed: Promise<void>
}

export interface Fault {
  /** Begins with the row of the threat catalogue. The subject is the node. */
  readonly title: string
  /**
   * A lie that nothing but another node can contradict. `denies`: who has paid is refused for good, for as long as it is
   * told. `vouches`: who has not paid gets in.
   */
  readonly lie?: 'denies' | 'vouches'
  readonly otherChain?: true
  readonly behave: (setting: Setting) => Behaviour
}

const always = (answer: Answer | 'reset') => (): Behaviour => () => answer
const html = '<html><body><h1>502 Bad Gateway</h1></body></html>'

/** Passes on what the real node says, with another result. */
function retell(change: (question: Question, result: unknown, setting: Setting) => unknown): Fault['behave'] {
  return (setting) => async (question, ask) => {
    const { body } = await ask()
    const answer = JSON.parse(body) as { readonly result: unknown }
    return { body: JSON.stringify({ ...answer, result: change(question, answer.result, setting) }) }
  }
}

/** The same for transactions that are there. What is left out by `undefined` is left out of the JSON. */
function retellTransaction(change: (told: Told, setting: Setting, signature: unknown) => unknown): Fault['behave'] {
  return retell(({ method, params }, result, setting) =>
    method === 'getTransaction' && result ? change(result as Told, setting, params[0]) : result,
  )
}

const withMeta = (told: Told, more: Readonly<Record<string, unknown>>) => ({ ...told, meta: { ...told.meta, ...more } })

/** As if the payment had been made: the balances of the decoy, whose accounts are the same. */
function balancesOf({ truth }: PaymentCase): Readonly<Record<string, unknown>> {
  const { preBalances, postBalances, preTokenBalances, postTokenBalances } = truth.meta
  return { preBalances, postBalances, preTokenBalances, postTokenBalances }
}

function tellOldNews({ method, params }: Question, result: unknown): unknown {
  if (method === 'getTransaction') return null
  if (method === 'getSlot' || method === 'getBlockHeight') return 1
  if (method === 'getSignaturesForAddress') return []
  if (method === 'getSignatureStatuses')
    return { context: { slot: 1 }, value: (params[0] as unknown[]).map(() => null) }
  return typeof result === 'object' && result !== null && 'context' in result
    ? { ...result, context: { slot: 1 } }
    : result
}

const err = { InstructionError: [1, { Custom: 1 }] }
const sayFailed: Fault['behave'] = retell(({ method }, result) => {
  if (method === 'getTransaction' && result) return withMeta(result as Told, { err })
  if (method !== 'getSignatureStatuses') return result
  const { value, ...more } = result as { readonly value: readonly (object | null)[] }
  return { ...more, value: value.map((status) => status && { ...status, err, status: { Err: err } }) }
})

const vouch: Fault['behave'] = retell(({ method, params }, result, { paymentCase }) => {
  const [asked] = params
  if (method === 'getSignatureStatuses' && Array.isArray(asked)) {
    const { slot } = paymentCase.truth
    const status = { slot, confirmations: null, err: null, status: { Ok: null }, confirmationStatus: 'finalized' }
    return { context: { slot }, value: asked.map(() => status) }
  }
  const lied = [paymentCase.failed, paymentCase.unsent, paymentCase.foreign].find(
    ({ signature }) => signature === asked,
  )
  return method === 'getTransaction' && lied ? { ...paymentCase.truth, transaction: [lied.wire, 'base64'] } : result
})

const speakForAnother: Fault['behave'] =
  ({ paymentCase }) =>
  async (question) => {
    const answer = await fetch(paymentCase.elsewhere, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', ...question }),
    })
    return { status: answer.status, body: await answer.text() }
  }

/** Nothing that can be used is said. */
export const outages: readonly Fault[] = [
  {
    title: 'T76: does not answer in time',
    behave: (setting) => async (_question, ask) => setting.healed.then(ask),
  },
  { title: 'T68: answers 429', behave: always({ status: 429, headers: { 'retry-after': '30' }, body: '{}' }) },
  { title: 'T68: answers 503', behave: always({ status: 503, body: 'no' }) },
  { title: 'T68: resets the connection', behave: always('reset') },
  {
    title: 'T68: sends half of its JSON',
    behave: () => async (_question, ask) => {
      const { body } = await ask()
      return { body: body.slice(0, body.length / 2) }
    },
  },
  {
    title: 'T68: sends HTML with status 200',
    behave: always({ headers: { 'content-type': 'text/html' }, body: html }),
  },
  { title: 'T69: answers null to everything', behave: retell(() => null) },
  {
    title: 'T69: refuses everything with -32015',
    behave:
      () =>
      ({ id }) => ({ body: JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32015, message: 'version' } }) }),
  },
  { title: 'T67, T75: tells old news', behave: retell(tellOldNews) },
  {
    title: 'T71: tells of another transaction',
    behave: retell(({ method }, result, { paymentCase }) => (method === 'getTransaction' ? paymentCase.truth : result)),
  },
  { title: 'T73: has become a node of another chain', otherChain: true, behave: speakForAnother },
  {
    title: 'T58: knows no block times',
    behave: retell(({ method }, result) => {
      if (method === 'getBlockTime') return null
      return method === 'getTransaction' && result ? { ...(result as Told), blockTime: null } : result
    }),
  },
  { title: 'T2: knows no outcomes', behave: retellTransaction((told) => ({ ...told, meta: null })) },
]

/** Something is said that is not so. */
export const lies: readonly Fault[] = [
  {
    title: 'T2: leaves the outcome out, and shows money that came',
    behave: retellTransaction((told, { paymentCase }) =>
      withMeta(told, { ...balancesOf(paymentCase), err: undefined }),
    ),
  },
  { title: 'T70: hides failures', behave: retellTransaction((told) => withMeta(told, { err: null })) },
  {
    title: 'T70: shows money that never came',
    behave: retellTransaction((told, { paymentCase }) => withMeta(told, balancesOf(paymentCase))),
  },
  {
    title: 'T70: says that all failed',
    lie: 'denies',
    behave: sayFailed,
  },
  {
    title: 'T70: hides the money that came',
    lie: 'denies',
    behave: retellTransaction((told) => withMeta(told, { postTokenBalances: told.meta['preTokenBalances'] })),
  },
  { title: 'T70, T167: vouches for payments that were never made', lie: 'vouches', behave: vouch },
]
