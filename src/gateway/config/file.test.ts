import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import { readPlanFile } from './file.ts'
import { jsonSchema } from './schema.ts'

const directory = mkdtempSync(join(tmpdir(), 'paystile-gateway-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))
const recipient = '8g2uBvHYnLHwvy4xXZfaqHLBG2vFgSMVzSRcXdXzZSAi'

let count = 0
const read = (text: string, environment: Record<string, string> = {}, name = 'paystile.yaml') => {
  count += 1
  const path = join(directory, `${count}-${name}`)
  writeFileSync(path, text)
  return readPlanFile(path, environment)
}
const problemsOf = async (text: string, environment?: Record<string, string>, name?: string) => {
  const error = await read(text, environment, name).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ConfigurationError)) throw error ?? new Error('it was taken')
  return error.problems.map((problem) => problem.replace(/\d+-paystile/, 'paystile'))
}

const good = `network: localnet
recipient: ${recipient}
token: USDC
upstream: http://127.0.0.1:3000
headers:
  Authorization: Bearer \${KEY}
routes:
  - path: /api/weather
    price: 0.01
`

describe('a YAML file', () => {
  it('is a plan, with secrets from the environment', async () => {
    const plan = await read(good, { KEY: 'k-123' })
    expect(plan.routes[0]?.upstream.headers).toEqual({ authorization: 'Bearer k-123' })
    const escaped = await read(
      good.replace(`\${KEY}`, () => `$\${KEY}`),
      {},
    )
    expect(escaped.routes[0]?.upstream.headers).toEqual({ authorization: `Bearer \${KEY}` })
  })

  it('tells which variable is missing, and where', async () => {
    expect(await problemsOf(good)).toEqual([
      'paystile.yaml:6:18: headers.Authorization: the environment variable KEY is not set; set it, or add it to .env beside this file',
    ])
  })

  it.each(['KEY', 'KEY:-none}', '}', '1KEY}'])('tells where a variable is misspelt: ${%s', async (rest) => {
    expect(
      await problemsOf(
        good.replace('KEY}', () => rest),
        { KEY: 'k' },
      ),
    ).toEqual([
      `paystile.yaml:6:18: headers.Authorization: has \${ without a name and }; write \${NAME} for a variable, or $\${ for a literal \${`,
    ])
    const plan = await read(
      good.replace('{KEY}', () => `\${${rest}`),
      { KEY: 'k' },
    )
    expect(plan.routes[0]?.upstream.headers).toEqual({ authorization: `Bearer \${${rest}` })
  })

  it.each([
    ['0x52908400098527886E0F7030069857D2E4169EE7', 'is not a Solana address but an Ethereum address'],
    ['0x10', 'is not a Solana address'],
    ['12345', 'must be text: put it in quotes'],
    ['true', 'must be text: put it in quotes'],
    ['[a]', 'must be text'],
  ])('says of the recipient %s that it %s', async (given, why) => {
    expect(await problemsOf(good.replace(`recipient: ${recipient}`, `recipient: ${given}`), { KEY: 'k' })).toEqual([
      expect.stringMatching(new RegExp(`^paystile.yaml:2:12: recipient: ("\\w+" )?${why}$`)),
    ])
  })

  it('tells line and column of all that is wrong', async () => {
    const text = good.replace('price: 0.01', 'pirce: 0.01').replace('token: USDC', 'token: usdt')
    expect(await problemsOf(text, { KEY: 'k' })).toEqual([
      'paystile.yaml:3:8: token: must be one of NATIVE, USDC, SOL, or a code of tokens',
      'paystile.yaml:9:5: routes[0].pirce: is not an option; did you mean price?',
    ])
    expect(await problemsOf(good.replace('price: 0.01', 'price: 0'), { KEY: 'k' })).toEqual([
      'paystile.yaml:9:12: routes[0].price: must be more than zero, not 0',
    ])
    expect(await problemsOf(good.replace('    price: 0.01\n', ''), { KEY: 'k' })).toEqual([
      'paystile.yaml:8:5: routes[0]: has neither a price nor free: true',
    ])
  })

  it('never prints values of the environment', async () => {
    for (const secret of ['short secret value', 's'.repeat(60), 'with "quotes" and \\']) {
      const text = good
        .replace('price: 0.01', `price: \${PRICE}`)
        .replace('token: USDC', `token: USDC\nsecret: \${PRICE}`)
      const problems = await problemsOf(text, { KEY: 'k', PRICE: secret })
      expect(problems.join()).toContain('routes[0].price')
      expect(problems.join()).not.toContain(secret.slice(0, 8))
    }
  })

  it.each([
    ['half a map', 'routes: [', /paystile\.yaml:1:\d+: /],
    ['a name twice', 'token: USDC\ntoken: SOL\n', /paystile\.yaml:2:1: the option is set twice: remove one of them/],
    ['an open bracket', 'mints: [a, b\n', /paystile\.yaml:2:1: the \] of an earlier \[ is missing: add it/],
    ['an open brace', 'mints: { USDC: a\n', /paystile\.yaml:2:1: the } of an earlier { is missing: add it/],
    ['an open quote', 'token: "USDC\n', /paystile\.yaml:2:1: the closing " of a text is missing: add it/],
    ['a tab', 'routes:\n\t- path: /a\n', /paystile\.yaml:2:1: a tab indents the line: use spaces/],
    [
      'an indented option',
      'token: USDC\n network: localnet\n',
      /paystile\.yaml:1:8: an option begins inside the value/,
    ],
    ['a text with a colon', 'seller: Shop: cheap\n', /paystile\.yaml:1:9: .* put a text that contains ": " in quotes/],
    ['a reserved character', 'seller: @shop\n', /paystile\.yaml:1:9: .*put the text in quotes/],
    ['a tag of a program', 'routes: !!js/function "x"\n', /paystile\.yaml:1:9: /],
    ['two documents', 'token: USDC\n---\ntoken: SOL\n', /paystile\.yaml:2:1: a second document begins here/],
    [
      'an alias of itself',
      'routes: &r\n  - *r\n',
      /paystile\.yaml:2:3: routes: is nested too deeply, or an alias contains itself; flatten it, or remove the alias$/,
    ],
    [
      'a password with a %',
      `${good.replace(/headers:\n.*\n/, '').replace('http://', 'http://u:50%off@')}`,
      /^paystile\.yaml:4:11: upstream: has a user name or password with a single %; write %25 for it$/,
    ],
    ['text', 'just text', /paystile\.yaml:1:1: must be an object of names and values/],
    ['nothing', '', /routes: is missing/],
    ['a prototype', '__proto__:\n  polluted: 1\nroutes: []\n', /__proto__: is not an option/],
  ])('of %s is refused with its place', async (_name, text, problem) => {
    expect((await problemsOf(text)).join('\n')).toMatch(problem)
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  it('does not blow up: aliases are counted', async () => {
    const levels = Array.from({ length: 20 }, (_, level) =>
      level === 0
        ? 'a0: &a0 [x, x, x, x, x, x]'
        : `a${level}: &a${level} [${Array(6)
            .fill(`*a${level - 1}`)
            .join(', ')}]`,
    )
    expect((await problemsOf(levels.join('\n'))).join()).toMatch(/alias/i)
  })

  it('may be JSON', async () => {
    const config = {
      network: 'localnet',
      recipient,
      token: 'USDC',
      upstream: 'http://127.0.0.1:1',
      routes: [{ path: '/', free: true }],
    }
    expect((await read(JSON.stringify(config), {}, 'paystile.json')).routes).toHaveLength(1)
  })
})

describe('a module', () => {
  const body = `{ network: 'localnet', recipient: '${recipient}', token: 'USDC', upstream: 'http://127.0.0.1:1', routes: [{ path: '/a', price: () => 1 }] }`

  it.each([
    ['paystile.config.mjs', `export const config = ${body}`],
    ['paystile.config.mjs', `export default ${body}`],
    [
      'paystile.config.ts',
      `interface Local { readonly a: number }\nexport const config: object = ${body}\nexport type { Local }`,
    ],
    ['paystile.config.mts', `const made: object = ${body}\nexport default made`],
  ])('%s gives its config', async (name, text) => {
    const plan = await read(text, {}, name)
    expect(plan.routes[0]?.config?.route.pricing.price).toBeTypeOf('function')
  })

  it('that exports nothing, or breaks, is told in a sentence', async () => {
    expect(await problemsOf('export const x = 1', {}, 'paystile.config.mjs')).toEqual([
      'paystile.config.mjs: has no export; write: export const config = defineGateway({ … })',
    ])
    expect(await problemsOf('throw new Error("no luck")', {}, 'paystile.config.mjs')).toEqual([
      'paystile.config.mjs: cannot be loaded: no luck',
    ])
    const missing = `throw new Error("Cannot find module 'paystile/gateway'\\nRequire stack")`
    expect(await problemsOf(missing, {}, 'paystile.config.mjs')).toEqual([
      "paystile.config.mjs: cannot be loaded: Cannot find module 'paystile/gateway'; install it here: npm install paystile",
    ])
    expect(await problemsOf(`export default ${body.replace('price', 'pirce')}`, {}, 'paystile.config.mjs')).toEqual([
      'paystile.config.mjs: routes[0].pirce: is not an option; did you mean price?',
    ])
  })
})

describe('the JSON Schema', () => {
  it('knows every name, and lets no other pass', () => {
    const schema = jsonSchema() as {
      properties: Record<string, { items?: { properties: Record<string, object>; additionalProperties: boolean } }>
      additionalProperties: boolean
      required: string[]
    }
    expect(schema.additionalProperties).toBe(false)
    expect(schema.required).toEqual(['routes'])
    expect(Object.keys(schema.properties)).toEqual(
      expect.arrayContaining(['network', 'recipient', 'upstream', 'routes']),
    )
    const route = schema.properties['routes']?.items
    expect(route?.additionalProperties).toBe(false)
    expect(route?.properties['price']).toEqual({ type: ['number', 'string'] })
  })
})
