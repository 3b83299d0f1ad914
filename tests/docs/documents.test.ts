/** The documents say what the code does. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createAnchor } from '../../site/anchor.mjs'
import * as analyticsAnswers from '../../src/api/analytics/answers.ts'
import { pageQuery, seriesQuery } from '../../src/api/analytics/queries.ts'
import { chargeOptions, endpointOptions, serviceOptions } from '../../src/api/factory-options.ts'
import { problems } from '../../src/api/http/errors.ts'
import { endpoints } from '../../src/api/http/paths.ts'
import { apiShape } from '../../src/api/options.ts'
import * as publicAnswers from '../../src/api/public/answers.ts'
import { verifyBody } from '../../src/api/public/bodies.ts'
import { exitCodes } from '../../src/cli/output.ts'
import { AnalyticsError } from '../../src/client/analytics.ts'
import { downloadErrorCodes } from '../../src/client/download/part-file.ts'
import { JournalError, paymentErrorCodes } from '../../src/client/errors.ts'
import { SignInError } from '../../src/client/sign-in.ts'
import { ConfigurationError } from '../../src/core/errors/configuration-error.ts'
import { errorNames } from '../../src/core/errors/paystile-error.ts'
import { metrics } from '../../src/core/observability/metrics.ts'
import { type RefusalRow, refusals } from '../../src/core/payment/refusals.ts'
import { LedgerUnavailable } from '../../src/core/ports/ledger.ts'
import { readPlan } from '../../src/gateway/config/plan.ts'
import { configSchema, routeSchema } from '../../src/gateway/config/schema.ts'
import { LedgerConfigurationError } from '../../src/ledger/identity.ts'
import { FaucetError } from '../../src/localnet/faucet/faucet.ts'
import { LocalnetDataError } from '../../src/localnet/store/data-error.ts'
import { providerSchema } from '../../src/paywall/config/options.ts'
import { serviceShape } from '../../src/paywall/config/service-options.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => read(join('src', file)))
const documents = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
]

describe('docs/errors.md', () => {
  const rows = [...read('docs/errors.md').matchAll(/^\| `(\w+)` \| (\S+) \| (\S+) \|/gm)].map(
    ([, code, second, third]) => ({ code, second, third }),
  )

  it('lists every refusal with its status and whether it is worth a retry', () => {
    const listed = rows.filter(({ second }) => /^\d+$/.test(second ?? ''))
    const actual = Object.entries(refusals as Record<string, RefusalRow>).map(([code, { status, retryable }]) => ({
      code,
      second: String(status),
      third: retryable ? '**yes**' : 'no',
    }))
    expect(listed).toEqual(actual)
  })

  it('lists every error class with its codes', () => {
    const section = read('docs/errors.md').split('## Error classes')[1]?.split('\n## ')[0] ?? ''
    const listed = [...section.matchAll(/^\| `(\w+)` \| (.+?) \|/gm)].map(([, name, codes = '']) => [
      name,
      [...codes.matchAll(/`(\w+)`/g)].map(([, code]) => code),
    ])
    const classes = [
      ...[new ConfigurationError([]), new LedgerUnavailable(''), new LedgerConfigurationError('')],
      ...[new JournalError(''), new AnalyticsError(''), new SignInError('')],
      ...[new FaucetError(''), new LocalnetDataError('')],
    ].map(({ name, code }) => [name, [code]])
    const thrown = sources.flatMap((text) => [...text.matchAll(/new PaystileError\(\s*'(\w+)'/g)])
    const own = [...new Set(thrown.map(([, code]) => code))].sort()
    const others = [
      ['PaystileError', own],
      ['PaymentError', []], // in the section of the client
      ['DownloadError', [...downloadErrorCodes]],
    ]
    expect(Object.fromEntries(listed)).toEqual(Object.fromEntries([...classes, ...others]))
    expect(listed.map(([name]) => name)).toEqual(errorNames)
  })

  it('lists every error of the client', () => {
    const section = read('docs/errors.md').split('## Client')[1] ?? ''
    expect([...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code)).toEqual([...paymentErrorCodes])
  })
})

describe('docs/cli.md', () => {
  it('lists every exit code', () => {
    const rows = [...read('docs/cli.md').matchAll(/^\| (\d) \| (\w+) \|/gm)].map(([, code, name]) => [
      name,
      Number(code),
    ])
    expect(rows).toEqual(Object.entries(exitCodes))
  })
})

describe('docs/configuration.md', () => {
  const text = read('docs/configuration.md')
  const namesIn = (file: string, name: string) => {
    const body = new RegExp(`interface ${name}\\b[^{]*\\{([\\s\\S]*?)\\n\\}`).exec(read(file))?.[1] ?? ''
    return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, option]) => option ?? '')
  }

  it.each([
    ['src/client/options.ts', 'ClientOptions'],
    ['src/client/policy.ts', 'PolicyOptions'],
  ])('names every option of %s', (file, name) => {
    const options = namesIn(file, name)
    expect(options.length).toBeGreaterThan(5)
    expect(options.filter((option) => !text.includes(`\`${option}\``))).toEqual([])
  })
})

describe('docs/configuration.md, where an option goes', () => {
  it('lists every option at the place that takes it', () => {
    const rows = [
      ...read('docs/configuration.md').matchAll(/^\| (`createPaystile`|`charge`|either.*?|`routes`) \| (.+) \|$/gm),
    ]
    const listed = rows.map(([, , names = '']) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name))
    const either = Object.keys(providerSchema.shape).filter(
      (name) => ![...serviceOptions, ...chargeOptions].includes(name as never),
    )
    expect(listed.map((names) => [...names].sort())).toEqual(
      [serviceOptions, chargeOptions, either, endpointOptions].map((names) => [...names].sort()),
    )
  })
})

it('docs/configuration.md names every option of a paywall', () => {
  const text = read('docs/configuration.md')
  expect(Object.keys(providerSchema.shape).filter((option) => !text.includes(`\`${option}\``))).toEqual([])
})

describe('docs/api.md', () => {
  const text = read('docs/api.md')
  const entries = Object.entries<{ readonly default: string; readonly browser?: { readonly default: string } }>(
    JSON.parse(read('package.json')).exports,
  ).flatMap(([entry, { default: file, browser }]) => [[entry, file], ...(browser ? [[entry, browser.default]] : [])])

  it.each(entries)('names everything that %s exports (%s)', async (entry = '', path = '') => {
    const names = Object.keys(await import(join(root, path.replace('dist/', 'src/').replace(/js$/, 'ts'))))
    const name = entry.slice(1)
    const section = text.split(/^## /m).find((part) => part.split('\n')[0]?.includes(name ? `${name}\`` : '`paystile`'))
    expect(names.length).toBeGreaterThan(0)
    expect(names.filter((one) => !new RegExp(`\`${one}[\`(]`).test(section ?? ''))).toEqual([])
  })

  it.each([
    ['src/paywall/config/events.ts', '### Events of `onEvent`'],
    ['src/client/options.ts', "### Events of the client's `onEvent`"],
  ])('lists every event of %s with its members', (file, heading) => {
    const section = text.split(heading)[1]?.split('\n#')[0] ?? ''
    const union =
      read(file)
        .split(/export type \w+Event =/)[1]
        ?.split('\n\n')[0] ?? ''
    const kinds = [...union.matchAll(/kind: '(\w+)'/g)].map(([, kind]) => kind)
    expect([...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, kind]) => kind)).toEqual(['kind', ...kinds])
    const members = [...union.matchAll(/readonly (\w+)\??:/g)].map(([, member]) => member)
    expect(members.filter((member) => !section.includes(`\`${member}\``))).toEqual([])
  })
})

describe('docs/analytics.md', () => {
  const text = read('docs/analytics.md')

  it('lists every problem with its status', () => {
    const listed = [...text.matchAll(/^\| `(\w+)` \| (\d{3}) \| (.+) \|$/gm)].map(([, ...row]) => row)
    const actual = Object.entries(problems).map(([code, { status, title }]) => [code, String(status), title])
    expect(listed).toEqual(actual)
  })

  it('names every endpoint that is documented in OpenAPI, every name in its query and every part of its answer', () => {
    const ownPaths = [
      endpoints.verifyPayment,
      endpoints.payments,
      endpoints.stream,
      endpoints.summary,
      endpoints.series,
    ]
    const discovery = [endpoints.openapi, endpoints.llms, endpoints.wellKnown, endpoints.health, endpoints.ready]
    expect([...ownPaths, ...discovery, endpoints.metrics].filter((path) => !text.includes(path))).toEqual([])
    const shapes = [
      analyticsAnswers.feedRecord,
      analyticsAnswers.analytics,
      analyticsAnswers.summary,
      analyticsAnswers.series,
      publicAnswers.verification,
    ]
    const names = [pageQuery(() => undefined), seriesQuery, verifyBody, ...shapes].flatMap(({ shape }) =>
      Object.keys(shape),
    )
    const unnamed = names.filter((name) => !text.includes(`\`${name}\``) && !text.includes(`"${name}"`))
    expect(unnamed.filter((name) => name !== 'code' && name !== 'detail')).toEqual([])
  })

  it('names every option of createPaystileRoutes', () => {
    const options = Object.keys({ ...serviceShape, ...apiShape })
    expect(options.length).toBeGreaterThan(15)
    expect(options.filter((option) => !text.includes(`\`${option}\``))).toEqual([])
  })
})

describe('docs/metrics.md', () => {
  it('lists every metric as src/core/observability/metrics.ts has it', () => {
    const listed = [...read('docs/metrics.md').matchAll(/^\| `(\w+)` \| (\w+) \| [^|]*\| (.+) \|$/gm)]
    expect(listed.map(([, name, kind, help]) => [name, kind, help])).toEqual(
      Object.entries(metrics).map(([name, [kind, help]]) => [name, kind, help]),
    )
  })
})

describe('docs/operations.md', () => {
  /** Calls of a log, and of the functions that pass a name on to one. */
  const written = sources.flatMap((text) => [
    ...[...text.matchAll(/\blog\.(info|warn|error)\(\s*'([^']+)'/g)].map(([, level, event]) => [event, level]),
    ...[...text.matchAll(/\blook\.say\('(info|warn|error)', '([^']+)'/g)].map(([, level, event]) => [event, level]),
    ...[...text.matchAll(/\bstartLoop\(\{ name: '(\w+)'/g)].map(([, name]) => [`${name}.failed`, 'warn']),
    ...[...text.matchAll(/(?:\bname = |\bbegin\('[\w.]+', )'(\w+\.start_failed)'/g)].map(([, event]) => [
      event,
      'error',
    ]),
  ])

  it('lists every event of the log with its levels', () => {
    const section = read('docs/operations.md').split('## Log events')[1]?.split('\n## ')[0] ?? ''
    const listed = [...section.matchAll(/^\| `(.+?)` \| (.+?) \|/gm)].map(([, event, levels]) => [event, levels])
    const levelsOf = (event: string) => written.filter(([name]) => name === event).map(([, level]) => level)
    const events = [...new Set(written.map(([event = '']) => event))].sort()
    expect(listed).toEqual(events.map((event) => [event, [...new Set(levelsOf(event))].sort().join(', ')]))
  })

  it('names every event area.event, and no call passes a name that the list cannot see', () => {
    expect(written.map(([event]) => event).filter((event) => !/^[a-z_]+\.[a-z_]+$/.test(event ?? ''))).toEqual([])
    const unseen = sources.flatMap((text) => [
      ...[...text.matchAll(/\blog\.(?:info|warn|error)\((?!\s*')[^,)]*/g)].map(([call]) => call),
      ...[...text.matchAll(/\.say\((?!'(?:info|warn|error)', ')[^)]*/g)].map(([call]) => call),
    ])
    expect(unseen.sort()).toEqual(['log.error(name', expect.stringMatching(/^log\.warn\(`.+\.failed`$/)])
  })
})

describe('snippets', () => {
  const blocks = documents.flatMap((file) =>
    [...read(file).matchAll(/^```(?:js|yaml) file=(\S+)\n([\s\S]*?)^```$/gm)].map(([, path = '', code]) => ({
      file,
      path,
      code,
    })),
  )

  it('of all pages are the examples', () => {
    expect([...new Set(blocks.map(({ path }) => path))].sort()).toEqual(
      readdirSync(join(root, 'examples'))
        .map((file) => `examples/${file}`)
        .sort(),
    )
    for (const { path, code } of blocks) expect(code).toBe(read(path))
  })

  it('of the README are examples too', () => {
    const [server, client] = [...read('README.md').matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, code]) => code)
    expect(server).toBe(read('examples/express.mjs'))
    expect(client).toBe(read('examples/agent.mjs'))
  })

  it('of the README are as short as promised', () => {
    const lines = (path: string) =>
      read(path)
        .split('\n')
        .filter((line) => line.trim() !== '').length
    expect(lines('examples/express.mjs')).toBeLessThanOrEqual(8)
    expect(lines('examples/agent.mjs')).toBeLessThanOrEqual(4)
  })
})

function withoutCode(file: string): string {
  return read(file).replace(/^ *```[\s\S]*?^ *```$/gm, '')
}

/** The anchors of a document's headings, as GitHub and the site name them. */
function listAnchors(file: string): readonly string[] {
  const headings = [...withoutCode(file).matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading ?? '')
  const anchors = headings.map((heading) => createAnchor(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')))
  return anchors.map((anchor, index) => {
    const before = anchors.slice(0, index).filter((other) => other === anchor).length
    return before === 0 ? anchor : `${anchor}-${before}`
  })
}

describe('links', () => {
  it.each(documents)('of %s lead somewhere', (file) => {
    const targets = [...withoutCode(file).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target ?? '')
    const broken = targets.filter((target) => {
      const [path = '', anchor] = target.split('#')
      if (/^https?:/.test(target)) return false
      const leadsTo = path === '' ? file : join(dirname(file), path)
      return !existsSync(join(root, leadsTo)) || (anchor !== undefined && !listAnchors(leadsTo).includes(anchor))
    })
    expect(broken).toEqual([])
  })
})

describe('lines', () => {
  const others = ['bench/README.md', 'deploy/ha/README.md', 'packages/client/README.md', 'site/index.md']
  /** Tables and HTML have lines of any length, and a line that is one link or one piece of code cannot be broken. */
  const mayBeLong = (line: string) =>
    /^\s*[|<]/.test(line) ||
    !/\s/.test(line.replaceAll(/\[[^\]]*\]\([^)]*\)|`[^`]*`|^\s*(?:[-*]|\d+\.)\s+/g, '').trim())

  it.each([...documents, ...others])('of %s have at most 100 columns', (file) => {
    const text = withoutCode(file).replaceAll(/<!--[\s\S]*?-->/g, '')
    expect(text.split('\n').filter((line) => line.length > 100 && !mayBeLong(line))).toEqual([])
  })
})

it('ARCHITECTURE.md stays short', () => {
  expect(read('ARCHITECTURE.md').split(/\s+/).length).toBeLessThanOrEqual(3_500)
})

it('the site has every page in its navigation', () => {
  const navigation = read('site/.vitepress/config.mts')
  const pages = documents.filter((file) => file.startsWith('docs/') && !file.startsWith('docs/decisions/'))
  expect(pages.filter((file) => !navigation.includes(`'${file.slice('docs/'.length, -'.md'.length)}'`))).toEqual([])
})

describe('docs/gateway.md', () => {
  it('names everything that the file may say', () => {
    const text = read('docs/gateway.md')
    const names = [...Object.keys(configSchema.shape), ...Object.keys(routeSchema.shape)]
    expect(names.length).toBeGreaterThan(40)
    expect(names.filter((name) => name !== 'routes' && !new RegExp(`\`${name}[\`:]`).test(text))).toEqual([])
  })

  it('shows a configuration in TypeScript that can be served', async () => {
    const code = /^```ts\n([\s\S]*?)^```$/m.exec(read('docs/gateway.md'))?.[1] ?? ''
    const config = code.replace(/^import.*$/m, '').replace('export const config = defineGateway(', 'return (')
    expect(readPlan(new Function(config)(), {}).kind).toBe('plan')
  })
})
