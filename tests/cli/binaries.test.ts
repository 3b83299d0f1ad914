/** A machine for which a native package has no build: every part that needs it ends with one sentence. */
import { spawn } from 'node:child_process'
import { expect, it } from 'vitest'
import { errorOf, finished, root } from './command.ts'

/** Variables with which the packages' own loaders look for builds that do not exist. */
const withoutSqlite = { npm_config_arch: 'riscv64' }
const withoutLitesvm = { NAPI_RS_NATIVE_LIBRARY_PATH: '/nowhere' }
const machine = `${process.platform}-${process.arch}`
const noBuild = `but its binary does not load on ${machine} (No native build was found)`
const elsewhere = "use network: 'devnet', or a localnet on another machine as rpc"

function run(env: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, ...env } })
  return finished(child)
}

/** The output of a program that prints the message of an error. */
async function printed(env: Readonly<Record<string, string>>, code: string): Promise<string> {
  const { stdout, stderr } = await run(env, '--input-type=module', '--eval', code)
  expect(stdout, stderr).not.toBe('')
  return stdout
}

it('the localnet names litesvm', async () => {
  const result = await run(withoutLitesvm, 'dist/cli/main.js', 'localnet')
  expect(errorOf(result)).toEqual({
    code: 'configuration',
    message:
      `paystile cannot start: the localnet needs litesvm, but its binary does not load on ${machine} ` +
      `(Cannot find native binding); install it with npm's optional dependencies, or ${elsewhere}`,
  })
  expect(result.code).toBe(2)
})

it('the localnet names SQLite', async () => {
  const result = await run(withoutSqlite, 'dist/cli/main.js', 'localnet')
  expect(errorOf(result).message).toBe(
    `paystile cannot start: the localnet needs @photostructure/sqlite, ${noBuild}; ${elsewhere}`,
  )
  expect(result.code).toBe(2)
})

it('a paywall with a SQLite ledger names SQLite', async () => {
  const code = `
    import { openPaywall } from 'paystile/server'
    const log = { info() {}, warn() {}, error() {} }
    const options = { price: 1, token: 'USDC', recipient: 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC', log }
    const place = { network: 'devnet', rpc: 'http://127.0.0.1:9', ledger: 'sqlite:none.sqlite', secret: '1:${'A'.repeat(43)}=' }
    await openPaywall({ ...options, ...place }).ready().catch((error) => process.stdout.write(error.message))
    process.exit()`
  expect(await printed(withoutSqlite, code)).toBe(
    `The SQLite ledger needs @photostructure/sqlite, ${noBuild}; use a PostgreSQL ledger (postgres:) or a supported machine.`,
  )
})

it('an inspection of a SQLite ledger names SQLite', async () => {
  const code = `
    import { inspectLedger } from './dist/ledger/inspect.js'
    process.stdout.write(JSON.stringify(await inspectLedger('sqlite:none.sqlite', {}, 0)))`
  expect(JSON.parse(await printed(withoutSqlite, code))).toMatchObject({
    kind: 'bad',
    why: `The SQLite ledger needs @photostructure/sqlite, ${noBuild}; use a PostgreSQL ledger (postgres:) or a supported machine.`,
  })
})

it('a payer with a journal in a file is told before anything is paid', async () => {
  const code = `
    import { createWallet, fetchWith402 } from 'paystile/client'
    const wallet = await createWallet(crypto.getRandomValues(new Uint8Array(32)))
    await fetchWith402('http://127.0.0.1:9/', { wallet }).catch((error) => process.stdout.write(error.message))`
  expect(await printed(withoutSqlite, code)).toBe(
    `The payment journal needs @photostructure/sqlite, ${noBuild}; ` +
      'pass your own journal (createMemoryJournal) or use a supported machine; nothing was paid.',
  )
})
