import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { slowestFiles } from './tests/setup/slowest.ts'

/** In this order their files start: the slow ones first, and those that end the shared workers last. */
const projects = ['browser', 'simulation', 'contract', 'e2e', 'unit', 'isolated'] as const
type Project = (typeof projects)[number]

const textOf = (file: string) => readFileSync(join(import.meta.dirname, file), 'utf8')
const files = ['src', 'tests'].flatMap(listTests)

function listTests(folder: string): readonly string[] {
  return readdirSync(join(import.meta.dirname, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : listTests(path)
    return path.endsWith('.test.ts') ? [path] : []
  })
}

function projectOf(file: string): Project {
  // Files that replace or reset modules need modules of their own. Others ask for a process of their own.
  if (/vi\.(?:mock|resetModules)\(|^\/\/ @isolated/m.test(textOf(file))) return 'isolated'
  if (/^tests\/(pages\/|client\/browser)/.test(file)) return 'browser'
  if (/^tests\/(chaos|simulation|torture)\//.test(file)) return 'simulation'
  if (/^tests\/(adapters|chain|ledger|localnet|tokens|venues|workers)\//.test(file)) return 'contract'
  return file.startsWith('src/') ? 'unit' : 'e2e'
}

/** `npm run test:long` runs the files that have a full form, and those that have no other. */
const isLong = process.env['PAYSTILE_TEST_LONG'] === '1'
const hasOnlyLong = (file: string) => file.endsWith('.long.test.ts')
const chosen = files.filter((file) =>
  isLong ? hasOnlyLong(file) || textOf(file).includes('harness/length.ts') : !hasOnlyLong(file),
)

const setups: Readonly<Partial<Record<Project, string>>> = {
  browser: 'tests/setup/browser.ts',
  contract: 'tests/setup/postgres.ts',
  e2e: 'tests/setup/postgres.ts',
}

/**
 * A worker keeps its modules for the next file of the same Vitest project. A run of everything therefore joins the
 * projects into one, except for the isolated files: it loads each module once for each worker. `--project contract` and
 * `npm test -- path` run the projects apart, with only the setup that their files need.
 */
const isWhole = process.argv.slice(2).every((argument) => argument === 'run')
const joined = (name: Project) => (isWhole && name !== 'isolated' ? 'all' : name)
const groups = [...new Set(projects.map(joined))]

/** The full forms that take minutes. They start first, so that none of them runs alone at the end. */
const longest = [
  'tests/chaos/matrix.test.ts',
  'tests/torture/slices.long.test.ts',
  'tests/attacks/flood.test.ts',
  'tests/interop/client-crashes.test.ts',
  'tests/pages/dashboard-look.test.ts',
  'tests/interop/attacks.test.ts',
  'tests/ledger/history.test.ts',
]
const missing = longest.filter((file) => !files.includes(file))
if (missing.length > 0) throw new Error(`vitest.config.ts lists tests that do not exist: ${missing.join(', ')}`)

/** Starts the files project by project. */
class ByProject extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const file = relative(import.meta.dirname, moduleId)
      const isFirst = isLong && longest.includes(file)
      return isFirst ? longest.indexOf(file) - longest.length : projects.indexOf(projectOf(file))
    }
    return (await super.sort(specifications)).sort((one, other) => rank(one) - rank(other))
  }
}

export default defineConfig({
  test: {
    pool: 'forks',
    // Keeps compiled modules, by the hash of their source, below node_modules for the next run.
    experimental: { fsModuleCache: true },
    isolate: false,
    // Most code of a test runs a few times, so compiling less of it saves processor time. Later versions of Node have
    // no such budget, and a cheaper compiler.
    execArgv: process.version.startsWith('v20.') ? ['--interrupt-budget=540672'] : [],
    setupFiles: ['tests/setup/environment.ts'],
    reporters: ['default', slowestFiles],
    // Ends a test that hangs, also on a busy machine. No test has a limit of its own.
    testTimeout: isLong ? 600_000 : 180_000,
    hookTimeout: 180_000,
    // The condition becomes true, or the test fails for it.
    expect: { poll: { timeout: 50_000, interval: 25 } },
    maxConcurrency: 4,
    // Many tests wait for sockets and timers, so three more workers than cores keep the cores busy.
    // The long forms compute more, and one more worker than cores is enough.
    maxWorkers: Math.min(6, availableParallelism() + (isLong ? 1 : 3)),
    sequence: { sequencer: ByProject },
    retry: 0,
    allowOnly: false,
    passWithNoTests: false,
    projects: groups.map((group) => ({
      extends: true,
      test: {
        name: group,
        include: chosen.filter((file) => joined(projectOf(file)) === group),
        isolate: group === 'isolated',
        globalSetup: [
          ...new Set(projects.filter((name) => joined(name) === group).flatMap((name) => setups[name] ?? [])),
        ],
      },
    })),
  },
})
