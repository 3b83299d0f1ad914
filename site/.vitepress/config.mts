/** The documentation site: the same Markdown that GitHub shows, with search, navigation and diagrams. */
import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { createAnchor } from '../anchor.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const repository = 'https://github.com/paystile/paystile'
const page = (text: string, name: string) => ({ text, link: `/docs/${name}` })

/** A page of the site is a Markdown file at one of these places. Links to any other file lead to the repository. */
const isPage = (path: string) => /^(docs\/.*|ARCHITECTURE|CHANGELOG|CONTRIBUTING|SECURITY)\.md$/.test(path)

function rewriteLink(href: string, from: string): string {
  const [, path = '', anchor = ''] = /^([^#]*)(#.*)?$/.exec(href) ?? []
  if (path === '' || /^([a-z]+:|\/)/.test(path)) return href
  const target = relative(root, join(root, dirname(from), path))
  if (target === 'README.md') return `/${anchor}`
  if (isPage(target) || !existsSync(join(root, target))) return href
  return `${repository}/blob/main/${target}${anchor}`
}

export default defineConfig({
  title: 'paystile',
  description: 'Charge for any HTTP endpoint per request, on Solana.',
  srcDir: 'pages',
  cleanUrls: true,
  markdown: {
    anchor: { slugify: createAnchor },
    config(markdown) {
      const renderFence = markdown.renderer.rules.fence
      markdown.renderer.rules.fence = (tokens, index, ...rest) => {
        const token = tokens[index]
        if (token?.info.trim() !== 'mermaid') return renderFence?.(tokens, index, ...rest) ?? ''
        return `<Diagram source="${encodeURIComponent(token.content)}" />`
      }
      markdown.core.ruler.push('repository_links', ({ tokens, env }) => {
        for (const { children } of tokens)
          for (const token of children ?? []) {
            const href = token.type === 'link_open' ? token.attrGet('href') : null
            if (href !== null) token.attrSet('href', rewriteLink(href, env.relativePath))
          }
      })
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/docs/quickstart' },
      { text: 'Configuration', link: '/docs/configuration' },
      { text: 'API', link: '/api/overview' },
      { text: 'Changes', link: '/CHANGELOG' },
    ],
    sidebar: [
      {
        text: 'Start',
        items: [
          page('Quickstart', 'quickstart'),
          page('How a payment works', 'how-it-works'),
          page('Charge for a route', 'tasks/charge-for-a-route'),
          page('Accept another token', 'tasks/accept-another-token'),
          page('Sell downloads', 'tasks/sell-downloads'),
          page('Split a payment', 'tasks/split-a-payment'),
          page('Put it in front of an API', 'tasks/put-it-in-front-of-an-api'),
          page('Pay from an agent', 'tasks/pay-from-an-agent'),
          page('Pay x402 and MPP servers', 'tasks/pay-x402-and-mpp-servers'),
          page('Run a facilitator', 'tasks/run-a-facilitator'),
          page('Give an agent a budget (MCP)', 'tasks/give-an-agent-a-budget'),
          page('Restore a ledger', 'tasks/restore-a-ledger'),
          page('Test mode', 'test-mode'),
          page('Local chain', 'localnet'),
        ],
      },
      {
        text: 'Sell',
        items: [
          page('Prices', 'pricing'),
          page('Tokens', 'tokens'),
          page('x402 and MPP', 'x402-and-mpp'),
          page('Rates', 'rates'),
          page('Checkout', 'checkout'),
          page('Gateway', 'gateway'),
          page('Dashboard', 'dashboard'),
          page('Analytics', 'analytics'),
          page('Exports', 'exports'),
          page('Rewards and refunds', 'rewards'),
          page('Settlement', 'settlement'),
          page('Verified developers', 'developers'),
          page('Webhooks', 'webhooks'),
        ],
      },
      {
        text: 'Operate',
        items: [
          page('Running it', 'operations'),
          page('Many servers', 'deploy'),
          page('Scale', 'scale'),
          page('Keys', 'keys'),
          page('Sign-in', 'sign-in'),
          page('Metrics', 'metrics'),
          page('Security model', 'security'),
          page('Threats and tests', 'threats'),
        ],
      },
      {
        text: 'Reference',
        items: [
          page('Configuration', 'configuration'),
          page('Command line', 'cli'),
          page('Library', 'api'),
          { text: 'Types', link: '/api/overview' },
          page('Errors', 'errors'),
          page('Protocol', 'protocol'),
          page('Glossary', 'glossary'),
          { text: 'Architecture', link: '/ARCHITECTURE' },
          { text: 'Decisions', link: '/docs/decisions/README' },
          { text: 'Contributing', link: '/CONTRIBUTING' },
        ],
      },
    ],
  },
})
