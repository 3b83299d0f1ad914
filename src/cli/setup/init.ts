/** `paystile init`: asks four questions and writes all files that `paystile serve` needs. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import { initAgentWallet } from '../../client/agent-wallet.ts'
import { formatPlace } from '../../gateway/config/place.ts'
import { readPlan } from '../../gateway/config/plan.ts'
import { CommandError, type ExitCode, type Terminal, table, usage } from '../output.ts'
import type { Flags } from '../run.ts'
import {
  type Answers,
  type Checked,
  checkTogether,
  readNetwork,
  readPath,
  readPrice,
  readRecipient,
  readTokenCode,
  readUpstream,
} from './init-answers.ts'
import { configName, configText, usualPort, type Written, writeFiles } from './init-files.ts'
import { askAll, type Prompts } from './init-questions.ts'

type InitOptions = Flags<'upstream' | 'path' | 'price' | 'token' | 'recipient' | 'network', 'yes' | 'force'>

const defaults = { upstream: 'http://127.0.0.1:3000', path: '/api/*', price: '0.01', network: 'localnet' } as const

export async function init(terminal: Terminal, given: string | undefined, options: InitOptions): Promise<ExitCode> {
  const directory = resolve(given ?? '.')
  const config = join(directory, configName)
  if (existsSync(config) && !options.force)
    throw usage(`${config} already exists. Edit it, or replace it with --force.`)
  const known = readFlags(options)
  const isPerson = !options.yes && !terminal.json && process.stdin.isTTY === true
  const answers = isPerson ? await askAll(await loadPrompts(), known) : complete(known, options.yes === true)
  checkByGateway(answers)
  const done = await write(directory, answers, options.force === true)
  return report(terminal, { directory, given, ...done })
}

async function loadPrompts(): Promise<Prompts> {
  const { text, select } = await import('@clack/prompts')
  return { text, select: select as unknown as Prompts['select'] }
}

/** Checks the given options and reports all problems at once. */
function readFlags(options: InitOptions): Partial<Answers> {
  const problems: string[] = []
  const read = <T>(flag: string, text: string | undefined, check: (text: string) => Checked<T>): T | undefined => {
    if (text === undefined) return undefined
    const checked = check(text)
    if ('value' in checked) return checked.value
    problems.push(`${flag}: ${checked.problem}`)
    return undefined
  }
  const token = read('--token', options.token, readTokenCode)
  const answers = {
    upstream: read('--upstream', options.upstream, readUpstream),
    path: read('--path', options.path, readPath),
    // The price is in the chosen token.
    price: read('--price', options.price, (text) => readPrice(text, token ?? 'USDC')),
    token: token ?? (options.price === undefined ? undefined : ('USDC' as const)),
    network: read('--network', options.network, readNetwork),
    recipient: read('--recipient', options.recipient, readRecipient),
  }
  if (problems.length > 0) throw usage(`${problems.join('; ')}.`)
  return Object.fromEntries(Object.entries(answers).filter(([, value]) => value !== undefined))
}

/** Without a terminal, all values must be given, or the defaults requested. */
function complete(known: Partial<Answers>, useDefaults: boolean): Answers {
  const usual = useDefaults ? defaults : {}
  const { upstream, path, price, token = 'USDC', network, recipient } = { ...usual, ...known }
  const missing = Object.entries({ upstream, path, price, network }).flatMap(([name, value]) =>
    value === undefined ? [`--${name}`] : [],
  )
  if (recipient === undefined && network !== 'localnet') missing.push('--recipient')
  if (!upstream || !path || !price || !network || missing.length > 0) {
    const hint = useDefaults ? '' : ', or run it in a terminal, or use the defaults with --yes'
    throw usage(
      `${missing.join(', ')} ${missing.length > 1 ? 'are' : 'is'} missing. Set ${missing.length > 1 ? 'them' : 'it'}${hint}.`,
    )
  }
  const problem = checkTogether({ network, token })
  if (problem !== undefined) throw usage(`${problem}.`)
  return { upstream, path, price, token, network, recipient }
}

/** A wallet for a localnet. It must differ from the payer's wallet, because a transfer to oneself pays nothing. */
async function makeRecipient(directory: string): Promise<string> {
  const { address } = await initAgentWallet({ path: join(directory, '.paystile', 'recipient.json') })
  return address
}

async function write(directory: string, given: Answers, force: boolean): Promise<Pick<Done, 'answers' | 'files'>> {
  try {
    const answers = { ...given, recipient: given.recipient ?? (await makeRecipient(directory)) }
    return { answers, files: writeFiles(directory, configText(answers), answers, force) }
  } catch (error) {
    // The error of a key file has the one of the file system as its cause.
    const { cause = error } = error as Error
    const { code, path = directory } = cause as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw new CommandError(
      'usage',
      'not_written',
      `${path} cannot be written (${code}). Choose another directory, or give this user write access.`,
    )
  }
}

/** Placeholders for the wallet, secret and node: only the rest is checked. */
const anybody = 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'
const likely = { PAYSTILE_SECRET: `1:${'x'.repeat(32)}`, PAYSTILE_RPC: 'http://127.0.0.1:8899' }

/** The gateway checks the configuration before anything is written. */
function checkByGateway(answers: Answers): void {
  const text = configText({ ...answers, recipient: answers.recipient ?? anybody })
  const reading = readPlan(parse(text), likely)
  if (reading.kind === 'plan') return
  throw usage(`${reading.problems.map(({ place, why }) => `${formatPlace(place)}: ${why}`).join('; ')}.`)
}

interface Done {
  readonly directory: string
  readonly given: string | undefined
  readonly answers: Answers & { readonly recipient: string }
  readonly files: Written
}

function report(terminal: Terminal, { directory, given, answers, files }: Done): ExitCode {
  const { network, path, recipient } = answers
  const sample = path.replace(/\*$/, 'hello').replace(/:[A-Za-z_]\w*/g, '1')
  const pay = `npx paystile pay http://127.0.0.1:${usualPort}${sample}`
  const next = [
    ...(given === undefined || resolve(given) === resolve('.') ? [] : [`cd ${given}`]),
    'npx paystile doctor',
    'npx paystile serve',
    network === 'localnet' ? `npx paystile faucet && ${pay}` : pay,
  ]
  const words = ['', 'check the setup', 'start the gateway', 'make a payment, in another terminal']
  const rows = next.map((command, index) => [command, words[index + words.length - next.length] ?? ''])
  const open = files.isEnvOpen ? ['', 'Other users of this machine can read .env. Run: chmod 600 .env'] : []
  return terminal.result({ ok: true, directory, ...files, network, recipient, next }, [
    `Wrote ${files.written.join(', ')} in ${directory}${files.kept.length > 0 ? `; kept ${files.kept.join(', ')}` : ''}.`,
    `${recipient} receives the payments.`,
    ...open,
    '',
    'Next steps:',
    ...table(rows),
  ])
}
