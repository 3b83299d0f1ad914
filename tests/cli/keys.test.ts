/** `paystile keys`: made, looked at, replaced, encrypted; the key itself is never shown. */
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { encodeBase58 } from '../../src/core/encoding/base58.ts'
import { makeKeyFile, readKeyFile, viewKeyFile } from '../../src/host/keys/key-file.ts'
import { useTemporaryHome } from '../harness/shop.ts'
import { runHere } from './in-process.ts'

const asked = vi.hoisted(() => ({ answers: [] as (string | symbol)[], questions: [] as string[] }))
vi.mock('@clack/prompts', () => ({
  password: async ({ message, output }: { message: string; output: unknown }) => {
    asked.questions.push(message)
    expect(output).toBe(process.stderr)
    return asked.answers.shift()
  },
}))

vi.mock('node:crypto', async (load) => (await import('../harness/quick-scrypt.ts')).quickScrypt(load))

const passphrase = 'correct horse battery'
const home = useTemporaryHome()
let directory: string
let file: string

beforeEach(() => {
  directory = mkdtempSync(join(home.path, 'keys-'))
  file = join(directory, 'payouts.json')
  asked.questions.length = 0
})
afterEach(() => {
  expect(asked.answers).toEqual([])
  vi.unstubAllEnvs()
  for (const stream of [process.stdin, process.stderr]) Reflect.deleteProperty(stream, 'isTTY')
})
afterAll(() => home.remove())

/** A person sits before it, who types these. */
function type(...answers: (string | symbol)[]): void {
  for (const stream of [process.stdin, process.stderr]) {
    Object.defineProperty(stream, 'isTTY', { value: true, configurable: true })
  }
  asked.answers = answers
}

async function keys(...args: readonly string[]) {
  const { code, stdout, stderr } = await runHere(['keys', ...args, '--json'])
  const text = stdout + stderr
  return { code, text, result: stdout ? JSON.parse(stdout) : undefined, error: stderr ? JSON.parse(stderr).error : {} }
}

/** Nothing of a key in any spelling. */
function expectNothingOf(key: Uint8Array, text: string): void {
  const seed = Buffer.from(key.subarray(0, 32))
  const spellings = [encodeBase58(key), encodeBase58(seed), seed.toString('hex'), seed.toString('base64url')]
  for (const spelling of [...spellings, [...seed.subarray(0, 4)].join(',')]) {
    expect(text).not.toContain(spelling.slice(0, 12))
  }
}

describe('paystile keys new', () => {
  it('creates a key, and prints its address and the next steps', async () => {
    const { code, result, text } = await keys('new', file)
    expect(code).toBe(0)
    expect(result).toEqual({ ok: true, address: viewKeyFile(file).address, keyFile: file, encrypted: false })
    expectNothingOf(readKeyFile(file), text)
    const person = await runHere(['keys', 'new', join(directory, 'other.json')], { isTerminal: true })
    expect(person.stdout).toContain('Anyone with this file can spend the money.')
    expectNothingOf(readKeyFile(join(directory, 'other.json')), person.stdout)
  })

  it('never replaces one', async () => {
    await keys('new', file)
    const before = readFileSync(file, 'utf8')
    const { code, error } = await keys('new', file)
    expect(code).toBe(4)
    expect(error.message).toBe(
      `${file} already contains a key (${viewKeyFile(file).address}). Choose another file, or replace it with: npx paystile keys rotate ${file}`,
    )
    expect(readFileSync(file, 'utf8')).toBe(before)
  })

  it('encrypts it with the passphrase of the environment, without a question', async () => {
    vi.stubEnv('PAYSTILE_KEY_PASSPHRASE', passphrase)
    const { code, result, text } = await keys('new', file, '--passphrase')
    expect(code).toBe(0)
    expect(result.encrypted).toBe(true)
    expectNothingOf(readKeyFile(file, passphrase), text)
    expect(text).not.toContain(passphrase)
    expect(asked.questions).toEqual([])
  })

  it('encrypts it with a passphrase that is typed twice', async () => {
    type(passphrase, passphrase)
    expect((await keys('new', file, '--passphrase')).result.encrypted).toBe(true)
    expect(asked.questions).toEqual(['New passphrase (at least 12 characters)', 'Repeat the passphrase'])
    expect(readKeyFile(file, passphrase)).toHaveLength(64)
  })

  it.each<[string, (string | symbol)[], RegExp]>([
    ['with a slip', [passphrase, 'correct horse batery'], /passphrases differ\. Nothing was written/],
    ['and then leaves', [passphrase, Symbol('cancel')], /Cancelled\. Nothing was written/],
  ])('makes nothing when a person types it twice %s', async (_what, answers, why) => {
    type(...answers)
    const { code, error } = await keys('new', file, '--passphrase')
    expect([code, error.message]).toEqual([2, expect.stringMatching(why)])
    expect(existsSync(file)).toBe(false)
  })

  it('creates nothing without a passphrase or a terminal, or with a short passphrase', async () => {
    expect((await keys('new', file, '--passphrase')).error.message).toContain('or set PAYSTILE_KEY_PASSPHRASE')
    vi.stubEnv('PAYSTILE_KEY_PASSPHRASE', 'short')
    expect((await keys('new', file, '--passphrase')).error.message).toContain('at least 12 characters')
    expect(readdirSync(directory)).toEqual([])
  })

  it('takes no passphrase as an argument: others on the machine read those', async () => {
    const { code } = await runHere(['keys', 'new', file, `--passphrase=${passphrase}`])
    expect(code).toBe(2)
    expect(existsSync(file)).toBe(false)
  })
})

describe('paystile keys show', () => {
  it('tells address, form and mode without opening the file', async () => {
    makeKeyFile(file, passphrase)
    chmodSync(file, 0o644)
    const { code, result, text } = await keys('show', file)
    expect(code).toBe(0)
    const { address } = viewKeyFile(file)
    expect(result).toEqual({ ok: true, address, keyFile: file, encrypted: true, mode: '0644', private: false })
    chmodSync(file, 0o600)
    expectNothingOf(readKeyFile(file, passphrase), text)
    const person = await runHere(['keys', 'show', file], { isTerminal: true })
    expect(person.stdout).toBe(`Address    ${address}\nEncrypted  yes\nMode       0600\n`)
  })

  it('explains the problem of a file in one sentence', async () => {
    const { code, error } = await keys('show', file)
    expect([code, error.code]).toEqual([4, 'key_unusable'])
    expect(error.message).toContain(`${file} cannot be read: it does not exist`)
  })
})

describe('paystile keys rotate', () => {
  it('prints both addresses and the next steps, and no key', async () => {
    makeKeyFile(file)
    const old = viewKeyFile(file).address
    const { code, result, text } = await keys('rotate', file)
    expect(code).toBe(0)
    expect(result.former.address).toBe(old)
    expect(result.address).toBe(viewKeyFile(file).address)
    expect(result.former.path).toMatch(/payouts\.json\.\d{4}-\d\d-\d\dT\d{6}Z\.old$/)
    expect(result.next.join(' ')).toContain(`Move the balances of ${old} to ${result.address}`)
    for (const path of [file, result.former.path]) expectNothingOf(readKeyFile(path), text)
  })

  it('asks for the passphrase once, and keeps it', async () => {
    makeKeyFile(file, passphrase)
    type('another passphrase')
    expect((await keys('rotate', file)).error.message).toContain('the passphrase is wrong')
    type(passphrase)
    const { result } = await keys('rotate', file)
    expect(asked.questions).toEqual([`Passphrase of ${file}`, `Passphrase of ${file}`])
    expect(encodeBase58(readKeyFile(file, passphrase).subarray(32))).toBe(result.address)
  })
})

describe('paystile keys encrypt, keys decrypt', () => {
  it('write the same key in the other form', async () => {
    makeKeyFile(file)
    const before = readFileSync(file, 'utf8')
    type(passphrase, passphrase)
    expect((await keys('encrypt', file)).result).toMatchObject({ ok: true, encrypted: true })
    expect(viewKeyFile(file).isEncrypted).toBe(true)
    expect((await keys('encrypt', file)).error.message).toContain('already encrypted')
    type(passphrase)
    expect((await keys('decrypt', file)).result).toMatchObject({ ok: true, encrypted: false })
    expect(readFileSync(file, 'utf8')).toBe(before)
    expect((await keys('decrypt', file)).error.message).toContain('is not encrypted')
  })
})

describe('an encrypted wallet', () => {
  it('is opened by all commands with wallets, with the environment or a typed passphrase', async () => {
    makeKeyFile(file, passphrase)
    const { address } = viewKeyFile(file)
    const show = () => runHere(['wallet', 'show', file, '--json'])
    const closed = await show()
    expect(closed.code).toBe(4)
    expect(closed.stderr).toContain('set PAYSTILE_KEY_PASSPHRASE to its passphrase')
    type(passphrase)
    expect(JSON.parse((await show()).stdout)).toMatchObject({ address })
    vi.stubEnv('PAYSTILE_KEY_PASSPHRASE', passphrase)
    expect(JSON.parse((await show()).stdout)).toMatchObject({ address })
    expect(asked.questions).toHaveLength(1)
  })
})
