/** The start script of deploy/ha names the programs that a machine lacks, instead of waiting for a cluster that cannot come. */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'

const script = fileURLToPath(new URL('../../deploy/ha/start', import.meta.url))
const postgres = ['postgres', 'initdb', 'pg_basebackup', 'pg_controldata', 'pg_ctl', 'pg_isready', 'pg_rewind']
/** The packages of the programs that a machine may lack. `id` says that the script does not run as root. */
const packages: Readonly<Record<string, string>> = {
  etcd: 'etcd-server',
  etcdctl: 'etcd-client',
  patroni: 'patroni',
  setsid: 'util-linux',
  ...Object.fromEntries(postgres.map((program) => [program, 'postgresql'])),
}
const system = ['sed', 'mkdir', 'chmod', 'cat', 'tee', 'grep', 'sleep', 'dirname', 'tail', 'sort', 'ls']

let folder: string
let programs: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-ha-test-'))
  programs = join(folder, 'programs')
  mkdirSync(programs)
  for (const program of system) symlinkSync(find(program), join(programs, program))
  for (const program of Object.keys(packages)) write(program, 'exit 0')
  write('id', 'echo 1000')
  write('setsid', 'exec "$@"')
  write('python', 'exit 0')
  writeFileSync(join(programs, 'patroni'), `#!${join(programs, 'python')}\n`)
})
afterEach(() => rmSync(folder, { recursive: true }))

function find(program: string): string {
  const path = (process.env['PATH'] ?? '').split(delimiter).map((directory) => join(directory, program))
  return path.find((file) => existsSync(file)) ?? program
}

function write(program: string, code: string): void {
  const path = join(programs, program)
  writeFileSync(path, `#!/bin/sh\n${code}\n`)
  chmodSync(path, 0o755)
}

function start() {
  const cluster = join(folder, 'cluster')
  const env = { PATH: programs, PAYSTILE_HA_POSTGRES: programs }
  const { status, stdout, stderr } = spawnSync('/bin/sh', [script, cluster], { env, encoding: 'utf8' })
  return { status, stdout, stderr, hasBegun: existsSync(cluster) }
}

it.each(Object.entries(packages))(
  'names %s and its package %s where it is missing, and starts nothing',
  (program, name) => {
    rmSync(join(programs, program))
    expect(start()).toEqual({
      status: 1,
      stdout: '',
      stderr: `missing: ${program}; install with: apt-get install ${name}\n`,
      hasBegun: false,
    })
  },
)

it('names all missing programs at once, and each package once', () => {
  for (const program of ['etcdctl', 'postgres', 'pg_rewind']) rmSync(join(programs, program))
  expect(start().stderr).toBe(
    'missing: etcdctl postgres pg_rewind; install with: apt-get install etcd-client postgresql\n',
  )
})

it('names setpriv where it runs as root', () => {
  write('id', 'echo 0')
  expect(start().stderr).toBe('missing: setpriv; install with: apt-get install util-linux\n')
})

it('names the Python module with which Patroni reaches etcd', () => {
  write('python', 'exit 1')
  expect(start().stderr).toBe("missing: Python's etcd; install with: apt-get install python3-etcd\n")
})

it('ends when a server has ended, and names its log', () => {
  const { status, stderr } = start()
  const [, name] = stderr.match(/^(etcd-[abc]|one|two) has ended/) ?? []
  const cluster = join(folder, 'cluster')
  const stop = script.replace(/start$/, 'stop')
  expect(stderr).toBe(`${name} has ended: see ${join(cluster, `log/${name}.log`)}, then run ${stop} ${cluster}\n`)
  expect(status).toBe(1)
})

it('is described with the packages that it needs', () => {
  const readme = readFileSync(script.replace(/start$/, 'README.md'), 'utf8')
  const line = readme.match(/^apt-get install (.*)$/m)?.[1]?.split(' ')
  expect(line).toEqual(expect.arrayContaining(['postgresql', 'patroni', 'etcd-server', 'etcd-client', 'python3-etcd']))
})
