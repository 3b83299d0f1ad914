/** The four questions of `paystile init` on a terminal. Values given as options are not asked. */
import { CommandError } from '../output.ts'
import { type Answers, type Checked, checkTogether, readOffer, readRecipient, readUpstream } from './init-answers.ts'

/**
 * The used part of `@clack/prompts`, so that tests can answer.
 */
export interface Prompts {
  text(question: {
    readonly message: string
    readonly placeholder?: string
    readonly initialValue?: string
    readonly validate?: (value: string | undefined) => string | undefined
  }): Promise<string | symbol>
  select<Value extends string>(question: {
    readonly message: string
    readonly options: { readonly value: Value; readonly label: string; readonly hint: string }[]
  }): Promise<Value | symbol>
}

export async function askAll(prompts: Prompts, known: Partial<Answers>): Promise<Answers> {
  const upstream =
    known.upstream ??
    (await askText(prompts, readUpstream, {
      message: 'Address of your API:',
      initialValue: 'http://127.0.0.1:3000',
    }))
  const { path, price, token } = isOffer(known)
    ? known
    : await askText(prompts, readOffer, {
        message: 'Paid path, price and token (USDC, SOL or NATIVE):',
        initialValue: `${known.path ?? '/api/*'} ${known.price ?? '0.01'} ${known.token ?? 'USDC'}`,
      })
  const network = known.network ?? (await askNetwork(prompts))
  const problem = checkTogether({ network, token })
  if (problem !== undefined) throw new CommandError('usage', 'usage', `${problem}.`)
  const recipient = known.recipient ?? (await askRecipient(prompts, network))
  return { upstream, path, price, token, network, recipient }
}

function isOffer(known: Partial<Answers>): known is Partial<Answers> & Pick<Answers, 'path' | 'price' | 'token'> {
  return known.path !== undefined && known.price !== undefined && known.token !== undefined
}

async function askText<T>(
  prompts: Prompts,
  read: (text: string) => Checked<T>,
  question: { readonly message: string; readonly initialValue: string },
): Promise<T> {
  const text = given(await prompts.text({ ...question, validate: (value) => findProblem(read(value ?? '')) }))
  const checked = read(text)
  if ('value' in checked) return checked.value
  throw new CommandError('usage', 'usage', `${checked.problem}.`)
}

async function askNetwork(prompts: Prompts): Promise<Answers['network']> {
  return given(
    await prompts.select<Answers['network']>({
      message: 'Which network?',
      options: [
        { value: 'localnet', label: 'localnet', hint: 'a local chain, for tests' },
        { value: 'devnet', label: 'devnet', hint: 'the public test network' },
        { value: 'mainnet', label: 'mainnet', hint: 'real money' },
      ],
    }),
  )
}

async function askRecipient(prompts: Prompts, network: Answers['network']): Promise<string | undefined> {
  const canBeMade = network === 'localnet'
  const text = given(
    await prompts.text({
      message: `Address of the wallet that receives payments${canBeMade ? ' (empty: create one)' : ''}:`,
      ...(canBeMade && { placeholder: 'empty: a new wallet in .paystile/recipient.json' }),
      validate: (value) => (canBeMade && !value?.trim() ? undefined : findProblem(readRecipient(value ?? ''))),
    }),
  )
  return text.trim() === '' ? undefined : text.trim()
}

function findProblem(checked: Checked<unknown>): string | undefined {
  return 'problem' in checked ? checked.problem : undefined
}

/** Clack returns a symbol for Ctrl-C. */
function given<T extends string>(answer: T | symbol): T {
  if (typeof answer === 'string') return answer
  throw new CommandError('usage', 'cancelled', 'Cancelled. Nothing was written.')
}
