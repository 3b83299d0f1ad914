// `npm run build:client`: makes @paystile/client, the light package for programs that only pay, in `build/client`, ready for
// `npm pack` and `npm publish`. Everything in it comes from the main package: its files are those of `dist` that
// `paystile/client` needs, its dependencies those that these files import, in the same versions.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { followImports, listEntries, listPackages } from './dist-files.mjs'
import { build, install, root } from './prepare.mjs'

/** Brings `dist` up to date and writes the package to where it is published from. */
export async function buildClient() {
  await install()
  await build()
  const folder = join(root, 'build/client')
  writeClientPackage(folder)
  return folder
}

/** Writes the package into a folder, which is replaced. `dist` has to be built. */
export function writeClientPackage(folder) {
  const { exports, imports, dependencies, ...main } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const files = followImports(root, listEntries(exports['./client']))
  const names = listPackages(root, files, Object.keys(dependencies))
  rmSync(folder, { recursive: true, force: true })
  for (const file of files) copy(join(root, file), join(folder, file))
  copy(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  copy(join(root, 'dist/vendor/LICENSES.txt'), join(folder, 'dist/vendor/LICENSES.txt'))
  copy(join(root, 'packages/client/README.md'), join(folder, 'README.md'))
  const manifest = {
    name: '@paystile/client',
    version: main.version,
    description: 'fetch that pays for HTTP 402 on Solana: the client of paystile, without its server.',
    keywords: ['402', 'agent', 'ai', 'client', 'fetch', 'http', 'micropayments', 'pay', 'payments', 'solana', 'usdc'],
    homepage: main.homepage,
    bugs: main.bugs,
    repository: main.repository,
    license: main.license,
    type: main.type,
    engines: main.engines,
    files: ['dist'],
    sideEffects: main.sideEffects,
    imports,
    exports: { '.': exports['./client'] },
    publishConfig: { access: 'public' },
    dependencies: Object.fromEntries(names.map((name) => [name, dependencies[name]])),
  }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}

function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true })
  cpSync(from, to)
}
