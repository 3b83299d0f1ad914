/** The files to deploy with name things that exist: paths of the repository, commands, variables, endpoints. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { endpoints } from '../../src/api/http/paths.ts'
import { readPlan } from '../../src/gateway/config/plan.ts'
import { readYaml } from '../../src/gateway/config/plan-text.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const dockerfile = read('deploy/docker/Dockerfile').replace(/\\\n\s*/g, ' ')
const unit = read('deploy/systemd/paystile.service')
/** The service needs so long at the most: 30 s for what runs, then what cannot end is given back. */
const stopSeconds = 35

const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => read(join('src', file)))
  .join('\n')

it.each([
  'deploy/docker/Dockerfile',
  'deploy/docker/compose.yaml',
  'deploy/docker/paystile.env.example',
  'deploy/systemd/paystile.service',
  'docs/operations.md',
  'docs/webhooks.md',
])('%s names variables that the service reads', (file) => {
  const names = [...new Set(read(file).match(/PAYSTILE_[A-Z_]+/g))]
  expect(names.length).toBeGreaterThan(0)
  expect(names.filter((name) => !sources.includes(`'${name}'`))).toEqual([])
})

it.each(['deploy/docker/Dockerfile', 'deploy/systemd/paystile.service', 'docs/operations.md', 'docs/webhooks.md'])(
  '%s names commands that there are',
  (file) => {
    const text = read(file).replace('ENTRYPOINT ["paystile"]\nCMD ["serve"]', 'env paystile serve')
    const commands = [...text.matchAll(/\b(?:npx|env) paystile (\w+)(?: (\w+))?/g)]
    expect(commands.length).toBeGreaterThan(0)
    for (const [, command, second] of commands) {
      const isGroup = new RegExp(`\\bgroup\\('${command}'`).test(sources)
      const name = isGroup ? second : command
      expect(sources).toMatch(new RegExp(`(?:command|buyer|onLedger)\\(\\s*'${name}'`))
    }
  },
)

describe('the image', () => {
  const stages = dockerfile.split(/^FROM /m).slice(1)
  const last = stages.at(-1) ?? ''

  it('is made of files that are in the repository, and that Docker is shown', () => {
    const shown = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1))
    expect(read('.dockerignore').split('\n')).toContain('*')
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, list = '']) => list.split(' '))
    expect(copied.length).toBeGreaterThan(5)
    for (const path of copied) {
      expect(existsSync(join(root, path))).toBe(true)
      expect(shown).toContain(path)
    }
    expect(shown.filter((path) => !copied.includes(path))).toEqual([])
  })

  it('contains the files of the build, at the right places', () => {
    const [from] = stages
    const taken = [...last.matchAll(/^COPY --from=build \/build\/(\S+) \/opt\/paystile\/(\S+)$/gm)]
    expect(taken.map(([, source]) => source)).toEqual(['package.json', 'node_modules', 'dist'])
    for (const [, source, target] of taken) expect(target).toBe(source)
    expect(from).toContain('npm ci --workspaces=false')
    expect(from).toContain('npm prune --omit=dev')
    expect(from?.indexOf('npm ci')).toBeLessThan(from?.indexOf('COPY src') ?? 0)
    expect(JSON.parse(read('package.json')).bin.paystile).toBe('dist/cli/main.js')
    expect(last).toContain('/opt/paystile/dist/cli/main.js /usr/local/bin/paystile')
  })

  it('runs without root, and reports its health', () => {
    expect([...last.matchAll(/^USER (\w+)/gm)].at(-1)?.[1]).toBe('node')
    expect(last.indexOf('USER node')).toBeLessThan(last.indexOf('ENTRYPOINT'))
    expect(last).toContain(`http://127.0.0.1:8402${endpoints.health}'`)
    const [, check = ''] = /HEALTHCHECK [^\n]*CMD (\[.*\])/.exec(last) ?? []
    const [, ...args] = JSON.parse(check) as string[]
    // Nobody listens there: it has to say so, and not to fail by a mistake in its own text.
    const script = args.map((arg) => arg.replace('8402', '1'))
    expect(spawnSync(process.execPath, script, { encoding: 'utf8' })).toMatchObject({ status: 1, stderr: '' })
  })
})

interface Service {
  readonly env_file?: string
  readonly environment: Readonly<Record<string, string>>
  readonly volumes: readonly string[]
  readonly ports?: readonly string[]
  readonly build?: { readonly context: string; readonly dockerfile: string }
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: object
  readonly stop_grace_period: string
}

describe('the compose file', () => {
  const compose = parse(read('deploy/docker/compose.yaml')) as {
    readonly services: Readonly<Record<string, Service>>
    readonly volumes: object
  }
  const config = parse(read('deploy/docker/paystile.yaml')) as {
    readonly listen: { readonly port: number; host: string }
  }
  const { gateway, postgres } = compose.services

  it('builds the image of this repository, and mounts files that there are', () => {
    expect(
      existsSync(join(root, 'deploy/docker', gateway?.build?.context ?? '', gateway?.build?.dockerfile ?? '')),
    ).toBe(true)
    for (const volume of [...(gateway?.volumes ?? []), ...(postgres?.volumes ?? [])]) {
      const [source = ''] = volume.split(':')
      if (source.startsWith('./')) expect(existsSync(join(root, 'deploy/docker', source))).toBe(true)
      else expect(Object.keys(compose.volumes)).toContain(source)
    }
    expect(existsSync(join(root, 'deploy/docker', `${gateway?.env_file}.example`))).toBe(true)
  })

  it('waits for the database, and for answers to end', () => {
    expect(gateway?.depends_on).toEqual({ postgres: { condition: 'service_healthy' } })
    expect(postgres?.healthcheck).toBeDefined()
    expect(Number.parseInt(gateway?.stop_grace_period ?? '', 10)).toBeGreaterThanOrEqual(stopSeconds)
  })

  it('asks for variables that its example names, and publishes the port that is listened on', () => {
    const named = [...read('deploy/docker/paystile.env.example').matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name)
    const asked = [...read('deploy/docker/compose.yaml').matchAll(/\$\{(\w+)/g)].map(([, name]) => name)
    expect(asked.filter((name) => !named.includes(name))).toEqual([])
    expect(gateway?.ports).toEqual([`127.0.0.1:${config.listen.port}:${config.listen.port}`])
    expect(config.listen.host).toBe('0.0.0.0')
    expect(dockerfile).toContain(`EXPOSE ${config.listen.port}`)
  })

  it('has a valid configuration for the gateway, with the variables of its example', () => {
    const env: Record<string, string> = {
      PAYSTILE_SECRET: `1:${'x'.repeat(32)}`,
      PAYSTILE_RECIPIENT: 'CFQwTrBgFRRKw4uHHQXk1Vv6u6zRYUgUU3ZSLgdcSnDD',
      PAYSTILE_RPC: 'https://one.example.com,https://two.example.com',
      PAYSTILE_PUBLIC_URL: 'https://api.example.com',
      PAYSTILE_NETWORK: 'mainnet',
    }
    for (const name of Object.keys(env))
      expect(read('deploy/docker/paystile.env.example')).toMatch(new RegExp(`^${name}=`, 'm'))
    const { value } = readYaml(read('deploy/docker/paystile.yaml'), 'paystile.yaml', env)
    expect(readPlan(value, env)).toMatchObject({ kind: 'plan', plan: { host: '0.0.0.0', port: 8402, trustProxy: 1 } })
  })

  it('holds no secret', () => {
    expect(read('deploy/docker/paystile.env.example')).toMatch(/^PAYSTILE_SECRET=$/m)
    expect(read('deploy/docker/paystile.env.example')).toMatch(/^POSTGRES_PASSWORD=$/m)
  })
})

describe('the unit', () => {
  const settingOf = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1]

  it('gives the service time to end, a place of its own, and nothing more', () => {
    expect(settingOf('KillSignal')).toBe('SIGTERM')
    expect(Number(settingOf('TimeoutStopSec'))).toBeGreaterThanOrEqual(stopSeconds)
    expect(settingOf('Restart')).toBe('on-failure')
    expect(settingOf('DynamicUser')).toBe('yes')
    expect(settingOf('NoNewPrivileges')).toBe('yes')
    expect(settingOf('ProtectSystem')).toBe('strict')
    expect(settingOf('CapabilityBoundingSet')).toBe('')
    expect(unit).toContain(`PAYSTILE_HOME=/var/lib/${settingOf('StateDirectory')}`)
    // V8 writes code and runs it.
    expect(settingOf('MemoryDenyWriteExecute')).toBeUndefined()
  })

  it('is understood by systemd, where there is one', () => {
    const folder = mkdtempSync(join(tmpdir(), 'paystile-unit-'))
    const file = join(folder, 'paystile.service')
    writeFileSync(file, unit.replace(/^ExecStart=.*$/m, `ExecStart=${process.execPath}`))
    const { error, stdout, stderr, status } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
    rmSync(folder, { recursive: true })
    if (!error) expect({ status, said: `${stdout}${stderr}` }).toEqual({ status: 0, said: '' })
  })
})
