// `npm run recording`: runs `npm start` and one payment in a terminal of 100 columns, and draws both as an animated SVG.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build, install, npm, root } from './prepare.mjs'

const columns = 100
const [character, lineHeight, margin] = [7.8, 18, 16]
const secondsAtTheEnd = 6
const colours = {
  31: '#ff7b72',
  32: '#7ee787',
  33: '#e3b341',
  34: '#79c0ff',
  35: '#d2a8ff',
  36: '#76e3ea',
  90: '#8b949e',
}
/** Seconds for each character of a command. */
const typing = 0.04
const colourCode = new RegExp(`${String.fromCharCode(27)}\\[([\\d;]*)m`)

await install()
await build()
const home = mkdtempSync(join(tmpdir(), 'paystile-recording-'))
const env = { ...process.env, FORCE_COLOR: '1', COLUMNS: String(columns), PAYSTILE_HOME: home, NO_UPDATE_NOTIFIER: '1' }
/** @type {{ at: number, text: string }[]} */
const lines = []
let at = 0.5
/** The moment of `at`. Both programs use the same clock, because the demo prints lines during the payment. */
let start = 0

/** Types a command. */
function type(command) {
  lines.push({ at, text: `\x1b[32m$\x1b[39m ${command}` })
  at += command.length * typing
}

/** Collects the lines of a program until one of them matches, or to its end. */
async function record(command, args, until) {
  const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  start = performance.now()
  await new Promise((resolve) => {
    const read = (chunk) => {
      for (const text of String(chunk).replace(/\n$/, '').split('\n')) {
        // The demo prints this line for programs, when its output is not a terminal.
        if (text.startsWith('{"url"')) continue
        lines.push({ at: at + (performance.now() - start) / 1000, text: text.replace(home, '~/.paystile') })
        if (until?.test(text)) resolve(undefined)
      }
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('exit', resolve)
  })
  at = (lines.at(-1)?.at ?? at) + 1.5
  return child
}

try {
  type('npm start')
  const [program, args] = npm('start', '--silent', '--', '--alone')
  const demo = await record(program, args, /Ctrl-C/)
  type('npx paystile pay http://127.0.0.1:8402/api/moon')
  await record(process.execPath, ['dist/cli/main.js', 'pay', 'http://127.0.0.1:8402/api/moon'])
  demo.kill('SIGTERM')
  await once(demo, 'exit')
} finally {
  rmSync(home, { recursive: true, force: true })
}
writeFileSync(join(root, 'docs/images/recording.svg'), draw())

function draw() {
  const seconds = at + secondsAtTheEnd
  const width = Math.ceil(columns * character + 2 * margin)
  const height = lines.length * lineHeight + 2 * margin
  const rows = lines.map(({ at: time, text }, index) => {
    const y = margin + (index + 0.75) * lineHeight
    const share = (time / seconds).toFixed(4)
    const animation = `<animate attributeName="opacity" values="0;1;1" keyTimes="0;${share};1" calcMode="discrete" dur="${seconds.toFixed(1)}s" repeatCount="indefinite"/>`
    return `<text x="${margin}" y="${y}" xml:space="preserve">${colour(text)}${animation}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="npm start and one payment in a terminal" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13" fill="#e6edf3">
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${rows.join('\n')}
</svg>
`
}

/** The parts of a line in their colours, cut at the width of the terminal. */
function colour(line) {
  let [fill, left] = ['', columns]
  return line.split(colourCode).reduce((svg, part, index) => {
    if (index % 2 === 1) {
      fill = colours[Number(part.split(';').at(-1))] ?? ''
      return svg
    }
    const shown = part.length > left ? `${part.slice(0, Math.max(0, left - 1))}…` : part
    left -= shown.length
    if (shown === '' || left < 0) return svg
    const text = shown.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
    return svg + (fill ? `<tspan fill="${fill}">${text}</tspan>` : text)
  }, '')
}
