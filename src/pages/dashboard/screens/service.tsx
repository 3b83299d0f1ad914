/** The service as it runs now: routes and whether they sell, upstreams, nodes, tokens, wallets and versions. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { trimGet } from '../../look/route-names.ts'
import { useAnswer } from '../data/answer.ts'
import type { PriceFile, ServicePage, WellKnown } from '../data/answers.ts'
import { usePulse } from '../data/pulse.ts'
import { formatAddress } from '../data/route.ts'
import { learnService, readService } from '../data/session.ts'
import { status, takeStatus } from '../data/status.ts'
import { PricesDialog } from '../dialogs/prices.tsx'
import { Card } from '../elements/card.tsx'
import { Count, Moment, Name } from '../elements/cells.tsx'
import { CopyButton, IdLine } from '../elements/copy.tsx'
import { Fact } from '../elements/fact.tsx'
import { Link } from '../elements/link.tsx'
import { sentence } from '../elements/outgoing.tsx'
import { Notice, Skeleton, TroubleNotice } from '../elements/states.tsx'
import { type Column, Table } from '../elements/table.tsx'
import { formatPrice, formatUnit } from '../tables/offers.ts'
import { ScreenHead } from './shell.tsx'

const everyMs = 15_000

export function Service() {
  const known = readService()
  const loaded = useAnswer<ServicePage>('/api/service', { follows: usePulse(everyMs) })
  const { value, trouble, reload } = loaded
  useEffect(() => {
    if (value) takeStatus(value.status)
  }, [value])
  return (
    <>
      <ScreenHead title="Service" />
      {trouble && !value ? (
        <div class="card">
          <TroubleNotice trouble={trouble} reload={reload} />
        </div>
      ) : known === undefined || value === undefined ? (
        <div class="card">
          <Skeleton lines={8} />
        </div>
      ) : (
        <div class="stack">
          <Card id="routes" title="Routes and prices" tools={<EditPrices prices={value.prices} reload={reload} />}>
            {value.routes.length === 0 ? (
              <Notice title="Nothing is for sale">
                <p>Add a route to the configuration of the gateway, or a paywall to your application.</p>
              </Notice>
            ) : (
              <Table
                class="many"
                caption="Routes and prices"
                columns={columns}
                rows={value.routes}
                rowKey={({ path, scope }, index) => `${path}${scope}${index}`}
              />
            )}
          </Card>
          {(value.prices?.changes.length ?? 0) > 0 && (
            <Card id="price-changes" title="Price changes">
              <Table
                caption="Price changes, newest first"
                columns={changeColumns}
                rows={value.prices?.changes ?? []}
                rowKey={({ at, name }) => `${at}${name}`}
              />
            </Card>
          )}
          {(value.upstreams?.length ?? 0) > 0 && (
            <Card id="upstreams" title="Upstreams">
              <Table
                class="many"
                caption="Upstreams"
                columns={upstreamColumns}
                rows={value.upstreams}
                rowKey={({ origin }, index) => `${origin}${index}`}
              />
            </Card>
          )}
          <Card id="nodes" title="Nodes">
            <Table caption="Solana nodes" columns={nodeColumns} rows={value.nodes} rowKey={({ name }) => name} />
          </Card>
          <div class="pair">
            <Card id="sold-tokens" title="Tokens">
              <Tokens tokens={known.tokens} routes={value.routes} />
            </Card>
            <Card id="versions" title="Versions">
              <Versions versions={value.versions} />
            </Card>
          </div>
          <Card id="identity" title="Network, keys and owners">
            <dl class="facts card-text">
              <Fact name="Network">{known.network}</Fact>
              <IdLine name="Genesis" text={known.genesis} />
              <IdLine name="Receipt key" text={known.identityKey} />
              {known.recipients.map((recipient) => (
                <IdLine key={recipient} name="Recipient" text={recipient} />
              ))}
              {value.owners.wallets.map((owner) => (
                <IdLine key={owner} name="Owner" text={owner} />
              ))}
            </dl>
          </Card>
        </div>
      )}
    </>
  )
}

type Route = ServicePage['routes'][number]
type NodeLine = ServicePage['nodes'][number]

/** The button of an owner, or the way to become one. Nothing where prices cannot be edited. */
function EditPrices({ prices, reload }: { readonly prices: ServicePage['prices']; readonly reload: () => void }) {
  const edited = useSignal<PriceFile | undefined>(undefined)
  // An older service sends no prices.
  if (!prices) return null
  const { file } = prices
  if (!file) return <Link href={formatAddress('sign-in')}>Sign in to edit prices</Link>
  if (file.why !== '') return <span class="muted">{file.why}</span>
  return (
    <>
      <button
        type="button"
        class="button"
        onClick={() => {
          edited.value = file
        }}
      >
        Edit prices
      </button>
      {edited.value && (
        <PricesDialog
          file={edited.value}
          onClose={(isSaved) => {
            edited.value = undefined
            if (!isSaved) return
            reload()
            void learnService()
          }}
        />
      )}
    </>
  )
}

/** The method and the path of a route stay on one line. */
function formatName(route: string): string {
  return trimGet(route).replace(' ', '\u00a0')
}

type UpstreamLine = ServicePage['upstreams'][number]
const upstreamColumns: readonly Column<UpstreamLine>[] = [
  {
    name: 'Upstream',
    class: 'lead',
    cell: ({ origin, why, routes }) => (
      <>
        {origin}
        {why !== '' && <p class="muted route-why">{sentence(why)}</p>}
        <span class="narrow route-why">{routes.map(formatName).join(' · ')}</span>
      </>
    ),
  },
  {
    name: 'State',
    class: 'trail',
    cell: ({ isUp }) => <span class={`badge ${isUp ? 'good' : 'bad'}`}>{isUp ? 'Up' : 'Down'}</span>,
  },
  { name: 'Routes', class: 'wide', cellClass: 'waits', cell: ({ routes }) => routes.map(formatName).join(', ') },
]

type PriceChange = NonNullable<ServicePage['prices']>['changes'][number]
const changeColumns: readonly Column<PriceChange>[] = [
  {
    name: 'Route',
    class: 'lead',
    cellClass: 'endpoint',
    cell: ({ name }) => trimGet(name),
    title: ({ name }) => trimGet(name),
  },
  {
    name: 'Price',
    class: 'number trail',
    cell: ({ before, after }) => (
      <span class="whole">
        {before} → <b>{after}</b>
      </span>
    ),
  },
  { name: 'Owner', class: 'wide', cell: ({ wallet }) => <Name text={wallet} /> },
  { name: 'When', class: 'when wide', cell: ({ at }) => <Moment at={at} /> },
]

const ledgers = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const

function Versions({ versions: { paystile, node, ledger, schema } }: { readonly versions: ServicePage['versions'] }) {
  return (
    <dl class="facts card-text">
      <Fact name="paystile">{paystile}</Fact>
      <Fact name="Node.js">{node}</Fact>
      {ledger !== null && <Fact name="Ledger">{ledgers[ledger]}</Fact>}
      {schema !== null && <Fact name="Schema">version {schema}</Fact>}
    </dl>
  )
}

/** A node is late if it is this many slots behind: about eight seconds. */
const lateSlots = 20

function describeNode({ isReachable, lag }: NodeLine): readonly [tone: string, word: string] {
  if (!isReachable) return ['bad', 'Not reachable']
  return (lag ?? 0) > lateSlots ? ['warn', 'Lags'] : ['good', 'Up']
}

const nodeColumns: readonly Column<NodeLine>[] = [
  {
    name: 'Node',
    class: 'lead',
    cell: (one) => (
      <>
        {one.name}
        {one.why !== '' && <p class="muted route-why">{sentence(one.why)}</p>}
      </>
    ),
  },
  {
    name: 'State',
    cell: (one) => {
      const [tone, word] = describeNode(one)
      return <span class={`badge ${tone}`}>{word}</span>
    },
  },
  { name: 'Slot', class: 'number wide', cell: ({ slot }) => (slot === null ? '–' : <Count count={slot} />) },
  { name: 'Slots behind', class: 'number wide', cell: ({ lag }) => (lag === null ? '–' : <Count count={lag} />) },
  {
    name: 'Responds in',
    class: 'number trail',
    cell: ({ latencyMs }) => (
      <span class="whole">
        <Count count={latencyMs} /> ms
      </span>
    ),
  },
]

const columns: readonly Column<Route>[] = [
  {
    name: 'Route',
    class: 'lead',
    cellClass: 'endpoint',
    title: ({ path }) => path ?? '',
    cell: (one) => {
      const methods = one.methods.join(', ')
      return (
        <>
          {methods !== 'GET' && <span class="muted">{methods} </span>}
          {one.path === null ? (
            'without a name'
          ) : (
            <Link href={formatAddress('endpoint', { name: one.path })} class="row-link">
              {one.path}
            </Link>
          )}
          {one.why !== '' && <p class="muted route-why">{sentence(one.why)}</p>}
          <span class="narrow">
            {one.isSelling ? 'Sells' : 'Paused'} · {one.acceptedMints.join(', ')}
          </span>
        </>
      )
    },
  },
  {
    name: 'State',
    class: 'wide',
    cell: ({ isSelling }) => (
      <span class={`badge ${isSelling ? 'good' : 'bad'}`}>{isSelling ? 'Sells' : 'Paused'}</span>
    ),
  },
  {
    name: 'Price',
    class: 'number trail',
    cell: (one) => (
      <>
        <span class="whole">{formatPrice(one)}</span> <span class="route-unit">for {formatUnit(one)}</span>
      </>
    ),
  },
  { name: 'Recipient', class: 'wide spare', cell: ({ recipient }) => <Name text={recipient} /> },
  { name: 'Paid in', class: 'wide', cell: ({ acceptedMints }) => acceptedMints.join(', ') },
]

/** A token that is not offered has an alert that starts with its code. */
function Tokens({ tokens, routes }: { readonly tokens: WellKnown['tokens']; readonly routes: readonly Route[] }) {
  const withheld = (status.value?.alerts ?? []).filter(({ kind }) => kind === 'token_withheld')
  const codes = [...new Set([...Object.keys(tokens), ...routes.flatMap(({ acceptedMints }) => acceptedMints)])]
  return (
    <dl class="facts card-text">
      {codes.map((code) => {
        const mint = tokens[code]
        const alert = withheld.find(({ detail }) => detail.startsWith(`${code}:`))
        return (
          <div key={code} class="fact">
            <dt>{code}</dt>
            <dd class="fact-id">
              {mint ? (
                <>
                  <code>{mint.address}</code>
                  <CopyButton text={mint.address} what={`the address of ${code}`} />
                </>
              ) : (
                <span class="muted">has no mint</span>
              )}
              <span class={`badge ${alert ? 'warn' : 'good'}`}>{alert ? 'Not offered' : 'Offered'}</span>
            </dd>
          </div>
        )
      })}
    </dl>
  )
}
