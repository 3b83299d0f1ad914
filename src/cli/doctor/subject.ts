/** What the doctor looks at: a gateway's file, or the environment of those who mount the middleware themselves. */
import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { ConfigurationError } from '../../core/errors/configuration-error.ts'
import { fileNames, readPlanFile } from '../../gateway/config/file.ts'
import type { Plan } from '../../gateway/config/plan.ts'
import { type EnvReading, loadEnvFile } from '../../host/env-file.ts'
import { type Config, type Environment, fromEnvironment, readConfig } from '../../paywall/config/config.ts'
import type { ProviderOptions } from '../../paywall/config/options.ts'

export interface Subject {
  /** Undefined where only the environment is looked at. */
  readonly file: string | undefined
  readonly directory: string
  readonly env: EnvReading
  /** The environment as a service started here would see it. */
  readonly environment: Environment
  /** What is wrong with the configuration; empty when it can be used. */
  readonly problems: readonly string[]
  /** Undefined while there are problems, and for the middleware. */
  readonly plan: Plan | undefined
  /** What is charged for; empty while there are problems. */
  readonly routes: readonly SubjectRoute[]
}

export interface SubjectRoute {
  readonly name: string
  readonly config: Config
  /** False where the recipient is not known here, because the program gives it. */
  readonly hasRecipient: boolean
}

/** Never throws: whatever cannot be read is a problem. */
export async function readSubject(given: string | undefined, base: Environment): Promise<Subject> {
  const file = given === undefined ? findFile('.') : resolve(given)
  const directory = file === undefined ? resolve('.') : dirname(file)
  const environment: Record<string, string | undefined> = { ...base }
  const env = loadEnvFile(directory, environment)
  const common = { file, directory, env, environment }
  try {
    if (file === undefined) return { ...common, ...readEnvironment(environment) }
    checkFile(file)
    const plan = await readPlanFile(file, environment)
    const routes = plan.routes.flatMap(({ name, config }) => (config ? [{ name, config, hasRecipient: true }] : []))
    return { ...common, problems: [], plan, routes }
  } catch (error) {
    return { ...common, problems: listProblems(error), plan: undefined, routes: [] }
  }
}

function findFile(directory: string): string | undefined {
  return fileNames.map((name) => resolve(join(directory, name))).find((path) => existsSync(path))
}

function checkFile(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats) throw new ConfigurationError([`${file} does not exist; npx paystile init makes one`])
  if (stats.isDirectory()) throw new ConfigurationError([`${file} is a directory; name the file in it`])
}

/** Any wallet will do: what is asked about the recipient is not asked then. */
const nobody = 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'

/** What can be looked at without knowing what the program charges for. */
function readEnvironment(environment: Environment): Pick<Subject, 'problems' | 'plan' | 'routes'> {
  const isMeant = Object.values(fromEnvironment).some((name) => environment[name])
  if (!isMeant) {
    const why =
      'there is no paystile.yaml here, and no PAYSTILE_ variable is set; npx paystile init makes what is needed'
    return { problems: [why], plan: undefined, routes: [] }
  }
  const hasRecipient = Boolean(environment['PAYSTILE_RECIPIENT'])
  const options: ProviderOptions = { price: '1', token: 'USDC', ...(!hasRecipient && { recipient: nobody }) }
  const config = readConfig(options, environment)
  return { problems: [], plan: undefined, routes: [{ name: 'the middleware', config, hasRecipient }] }
}

function listProblems(error: unknown): readonly string[] {
  if (error instanceof ConfigurationError) return error.problems
  const { code, message } = (error instanceof Error ? error : { message: String(error) }) as NodeJS.ErrnoException
  return [code === undefined ? message : `cannot be read (${code})`]
}
