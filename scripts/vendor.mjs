// Bundles the packages that consist of many modules into dist/vendor, and lets the modules of dist import those files:
// Node needs more time to find and link the modules of these packages than for the rest of a start (decision 0046).
//
// The files contain the names that dist imports. `imports` in package.json gives bundlers for browsers the files in
// dist/vendor/browser, because some packages have another build for them.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { rolldown } from 'rolldown'
import { root } from './prepare.mjs'

/** Packages that the client for browsers needs, too. */
const everywhere = /^(@noble\/hashes|@scure\/base|@solana\/kit|@solana-program\/[\w-]+)(\/|$)/
const onNode = /^(@opentelemetry\/api|standardwebhooks|undici|uqr|ws|zod)$/
const isBundled = (/** @type {string} */ name) => everywhere.test(name) || onNode.test(name)

/** Replaces the `require` of bundled packages. Optional packages that they try to load count as not installed. */
const requireBuiltin = `(name) => {
	const found = process.getBuiltinModule(name);
	if (found) return found;
	throw new Error("Cannot find module " + name);
}`

const dist = join(root, 'dist')
const modules = readdirSync(dist, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.js') && !path.startsWith(`pages${sep}`))
  .map((path) => ({ path: join(dist, path), code: readFileSync(join(dist, path), 'utf8') }))

/** The imports of packages, as the compiler writes them. */
const imports = /^(import|export) \{([^}]*)\} from '([^'.][^']*)';$/gm
/** @type {Map<string, Set<string>>} */
const names = new Map()
for (const { code } of modules)
  for (const [, , list = '', name = ''] of code.matchAll(imports)) {
    if (!isBundled(name)) continue
    const wanted = list.split(',').flatMap((one) => one.trim().split(' as ')[0] || [])
    names.set(name, new Set([...(names.get(name) ?? []), ...wanted]))
  }

const licences = { ...(await bundle(everywhere, 'browser')), ...(await bundle(/./, 'node')) }
writeFileSync(join(dist, 'vendor/LICENSES.txt'), Object.values(licences).join(`\n\n${'-'.repeat(80)}\n\n`))

for (const { path, code } of modules) {
  const rewritten = code.replaceAll(imports, (whole, verb, list, name) => {
    return isBundled(name) ? `${verb} {${list}} from '#vendor/${nameFile(name)}';` : whole
  })
  for (const [, name = ''] of rewritten.matchAll(/^(?:import|export)\b[^;]*? from '([^'.#][^']*)';$/gm))
    if (isBundled(name)) throw new Error(`${relative(root, path)} imports ${name} in a form that is not bundled`)
  if (rewritten !== code) writeFileSync(path, rewritten)
}

/** @param {string} name */
function nameFile(name) {
  return name.replace(/^@/, '').replace(/\.js$/, '').replaceAll('/', '-')
}

/**
 * Writes the chosen packages, and returns their licences by package.
 *
 * @param {RegExp} chosen
 * @param {'browser' | 'node'} platform
 */
async function bundle(chosen, platform) {
  const packages = [...names].filter(([name]) => chosen.test(name))
  const sources = new Map(packages.map(([name, all]) => [`vendor:${name}`, `export { ${[...all]} } from '${name}'`]))
  const build = await rolldown({
    cwd: root,
    platform,
    input: Object.fromEntries(packages.map(([name]) => [nameFile(name), `vendor:${name}`])),
    // Optional parts of ws, for programs that have installed them.
    external: ['bufferutil', 'utf-8-validate'],
    plugins: [
      {
        name: 'vendor',
        resolveId: (id) => (sources.has(id) ? id : undefined),
        load: (id) => sources.get(id),
        // Applications may bundle these files into a script without `import.meta`. The first access to `Request` loads
        // Node's own fetch. If this undici came first, Node's fetch would use its connections.
        renderChunk: (code, { name }) =>
          (name === 'undici' ? `globalThis.Request;\n${code}` : code)
            .replace('import { createRequire } from "node:module";\n', '')
            .replace('(() => createRequire(import.meta.url))()', requireBuiltin),
      },
    ],
  })
  const dir = join(dist, 'vendor', platform)
  const { output } = await build.write({ dir, chunkFileNames: 'shared-[name].js' })
  await build.close()
  const folders = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : [])).flatMap(findPackage)
  return Object.fromEntries([...new Set(folders)].map((folder) => [folder, readLicence(folder)]))
}

/** @param {string} path */
function findPackage(path) {
  return /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(path)?.[0] ?? []
}

/** @param {string} folder */
function readLicence(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))
  const text = file && existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8').trim() : ''
  return `${name} ${version} (${license})\n\n${text}`.trim()
}
