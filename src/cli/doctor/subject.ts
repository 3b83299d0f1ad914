/** The subject of the doctor: a gateway's file, or the environment of a program that mounts the middleware. */
import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type RoutesConfig, readRoutesConfig } from '../../api/options.ts'
import { ConfigurationError, type ConfigurationProblem } from '../../core/errors/configuration-error.ts'
import { fileNames, readPlanFile } from '../../gateway/config/file.ts'
import type { Plan } from '../../gateway/config/plan.ts'
import { type EnvReading, loadEnvFile } from '../../host/env-file.ts'
import {
  type Config,
  type Environment,
  fromEnvironment,
  readConfig,
  type ServiceConfig,
} from '../../paywall/config/config.ts'
import type { ProviderOptions } from '../../paywall/config/options.ts'

export interface Subject {
  /** Undefined if only the environment is checked. */
  readonly file: string | undefined
  readonly directory: string
  readonly env: EnvReading
  /** The environment of a service that is started here. */
  readonly environment: Environment
  /** Problems of the configuration; empty for a valid one. */
  readonly problems: readonly ConfigurationProblem[]
  /** Undefined with problems, and for the middleware. */
  readonly plan: Plan | undefined
  /** The gateway's own endpoints. Undefined with problems, and for the middleware. */
  readonly own: RoutesConfig | undefined
  /** The charged routes; empty with problems. */
  readonly routes: readonly SubjectRoute[]
}

export interface SubjectRoute {
  readonly name: string
  readonly config: Config
  /** False if only the program knows the recipient. */
  readonly hasRecipient: boolean
}

/** Never throws: unreadable input becomes a problem. */
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
    return { ...common, problems: [], plan, own: readRoutesConfig(plan.service, environment), routes }
  } catch (error) {
    return { ...common, problems: listProblems(error), plan: undefined, own: undefined, routes: [] }
  }
}

/** The service that the routes share. Without paid routes, a gateway may still be a facilitator. */
export function findService({ routes, own }: Pick<Subject, 'routes' | 'own'>): ServiceConfig | undefined {
  return routes[0]?.config.service ?? (own?.facilitator && own.service)
}

function findFile(directory: string): string | undefined {
  return fileNames.map((name) => resolve(join(directory, name))).find((path) => existsSync(path))
}

function checkFile(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats) {
    const message = `${file} does not exist`
    throw new ConfigurationError([{ code: 'not_configured', message, remedy: 'create it with npx paystile init' }])
  }
  if (stats.isDirectory()) throw new ConfigurationError([`${file} is a directory; choose the file in it`])
}

/** A placeholder. Checks of the recipient are skipped. */
const nobody = 'EM6GsJV3vSdsAJBj8sbvRqwtKvSb2mxU8XEyvFToiLqC'

/** Checks that need no knowledge of the program's routes. */
function readEnvironment(environment: Environment): Pick<Subject, 'problems' | 'plan' | 'own' | 'routes'> {
  const isMeant = Object.values(fromEnvironment).some((name) => environment[name])
  if (!isMeant) {
    const message = 'no paystile.yaml in this directory, and no PAYSTILE_ variable is set'
    const remedy = 'create them with npx paystile init'
    return { problems: [{ code: 'not_configured', message, remedy }], plan: undefined, own: undefined, routes: [] }
  }
  const hasRecipient = Boolean(environment['PAYSTILE_RECIPIENT'])
  const options: ProviderOptions = { price: '1', token: 'USDC', ...(!hasRecipient && { recipient: nobody }) }
  const config = readConfig(options, environment)
  const routes = [{ name: 'the middleware', config, hasRecipient }]
  return { problems: [], plan: undefined, own: undefined, routes }
}

function listProblems(error: unknown): readonly ConfigurationProblem[] {
  if (error instanceof ConfigurationError) return error.details
  const { code, message } = (error instanceof Error ? error : { message: String(error) }) as NodeJS.ErrnoException
  return [{ code: 'other', message: code === undefined ? message : `cannot be read (${code})` }]
}
