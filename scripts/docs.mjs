// `npm run docs`: builds the documentation site and serves it, offline. With `--build` it only builds.
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build, install, isOlder, npm, root, run, say } from './prepare.mjs'

const site = join(root, 'site')
const bin = (script, ...args) => run(process.execPath, [join(site, 'node_modules', script), ...args])

await install()
await build()
if (isOlder('site/node_modules/.package-lock.json', 'site/package-lock.json')) {
  say('Installing the tools of the site…')
  await run(...npm('ci', '--no-fund', '--no-audit', '--prefix', site))
}
say('Building the site…')
// Pages that lie outside the site's folder would not find its packages.
const pages = join(site, 'pages')
rmSync(pages, { recursive: true, force: true })
for (const file of ['docs', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'])
  cpSync(join(root, file), join(pages, file), { recursive: true })
cpSync(join(site, 'index.md'), join(pages, 'index.md'))
await bin('typedoc/bin/typedoc', '--options', join(site, 'typedoc.json'))
await bin('vitepress/bin/vitepress.js', 'build', site)
if (!process.argv.includes('--build'))
  await bin('vitepress/bin/vitepress.js', 'preview', site, '--host', '127.0.0.1', '--port', '8403')
