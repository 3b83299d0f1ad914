// `npm run options`: writes the tables of options in docs/ from the doc comments beside the options' declarations.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Where the options of each group are declared. */
export const sources = {
  paywall: ['src/paywall/config/options.ts', 'src/paywall/config/service-options.ts'],
  gateway: ['src/gateway/config/schema.ts'],
  api: ['src/api/options.ts'],
  rewards: ['src/api/rewards/option.ts'],
  client: ['src/client/options.ts', 'src/client/policy.ts'],
}

export const documents = ['configuration.md', 'gateway.md', 'analytics.md', 'rewards.md'].map((name) => `docs/${name}`)

/** An option right below its comment, one level deep. */
const described = /^ {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {2}(?:readonly )?(\w+)\??[:,]/gm

/** The options of a group by name, each with its meaning, its default and its links. */
export function readOptions(group) {
  const options = new Map()
  for (const file of sources[group]) {
    const text = readFileSync(join(root, file), 'utf8')
    for (const [, block = ''] of text.matchAll(
      /^(?:export )?(?:const \w+Shape =|interface \w+Options\b[^{]*) ?\{\n([\s\S]*?)^\}/gm,
    ))
      for (const [, comment, name] of block.matchAll(described)) options.set(name, { ...readComment(comment), file })
  }
  return options
}

function readComment(comment) {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\*? ?/, '').trimEnd())
  const [meaning = '', ...tags] = lines.join('\n').trim().split(/\n@/)
  const flat = (text) => text.replace(/\s+/g, ' ').trim()
  const tagged = (tag) => tags.filter((one) => one.startsWith(`${tag} `)).map((one) => flat(one.slice(tag.length)))
  return { meaning: flat(meaning), usual: tagged('defaultValue')[0], links: tagged('see') }
}

/** A document with its tables written anew. A table stands between `<!-- options group: names -->` and `<!-- end -->`. */
export function writeTables(text, document) {
  return text.replace(
    /(<!-- options (\w+):([^>]*)-->\n)[\s\S]*?(<!-- end -->)/g,
    (_all, start, group, names, end) => `${start}${table(group, names.trim().split(/\s+/), document)}${end}`,
  )
}

function table(group, names, document) {
  const options = readOptions(group)
  const own = document.replace('docs/', '')
  const rows = names.map((name) => {
    const option = options.get(name)
    if (!option) throw new Error(`${document}: ${group} has no option ${name}`)
    const links = option.links.map((link) => ` See ${link.replace(`(${own}#`, '(#')}.`).join('')
    const cells = [`\`${name}\``, option.usual ?? '–', `${option.meaning}${links}`]
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  })
  return ['| Option | Default | Meaning |', '|---|---|---|', ...rows, ''].join('\n')
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const document of documents) {
    const path = join(root, document)
    writeFileSync(path, writeTables(readFileSync(path, 'utf8'), document))
  }
}
