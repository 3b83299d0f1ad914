// The arguments of `npm run bench`.
import { parseArgs } from 'node:util'
import { benchmarks } from './benchmarks.mjs'

/**
 * @typedef {import('./benchmarks.mjs').Benchmark} Benchmark
 *
 * @typedef {object} Choice
 * @property {readonly Benchmark[]} chosen The benchmarks to run.
 * @property {(name: string) => boolean} isWanted Whether a result was asked for.
 * @property {boolean} isLarge
 * @property {boolean} isSmallest
 * @property {string} against The build of another version.
 */

const options = /** @type {const} */ ({
  only: { type: 'string', multiple: true },
  against: { type: 'string', multiple: false },
  large: { type: 'boolean', multiple: false },
  smallest: { type: 'boolean', multiple: false },
})
const usage = '--only <name>[,<name>], --large, --against <dist of another build>, --smallest, or plain names'
const reasons = {
  large: 'runs with --large only, because it writes several gigabytes',
  against: 'runs with --against <dist of another build> only',
  name: 'runs if it is named',
}

/** The user can correct it, so its message is all that is shown. */
export class UsageError extends Error {
  /** @override */
  name = 'UsageError'
}

/**
 * Names choose results: a whole name, or its beginning (`known`, `known/replicas`). Without names, everything runs that
 * needs no further option. With `--smallest` nothing needs one.
 *
 * @param {readonly string[]} args
 * @returns {Choice}
 */
export function readArguments(args) {
  const { values, positionals } = parse(args)
  const wanted = [...(values.only ?? []).flatMap((list) => list.split(',')), ...positionals]
  const allNames = benchmarks.flatMap(({ names }) => names)
  const unknown = wanted.find((part) => part === '' || !allNames.some((name) => name.startsWith(part)))
  if (unknown !== undefined)
    throw new UsageError(`No benchmark is named "${unknown}"; the names are ${allNames.join(', ')}.`)
  const isSmallest = values.smallest === true
  const given = {
    large: values.large === true || isSmallest,
    against: values.against !== undefined || isSmallest,
    name: wanted.length > 0 || isSmallest,
  }
  const isWanted = (/** @type {string} */ name) => wanted.length === 0 || wanted.some((part) => name.startsWith(part))
  const chosen = benchmarks.filter(({ names, needs }) => names.some(isWanted) && (!needs || given[needs]))
  const left = wanted.find((part) => !chosen.some(({ names }) => names.some((name) => name.startsWith(part))))
  if (left !== undefined) {
    const needs = benchmarks.find(({ names }) => names.some((name) => name.startsWith(left)))?.needs ?? 'large'
    throw new UsageError(`${left} ${reasons[needs]}.`)
  }
  return { chosen, isWanted, isLarge: values.large === true, isSmallest, against: values.against ?? 'dist' }
}

/** @param {readonly string[]} args */
function parse(args) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    const problem = String(error instanceof Error ? error.message : error).split(/[.\n]/)[0]
    throw new UsageError(`${problem}; npm run bench takes ${usage}.`)
  }
}
