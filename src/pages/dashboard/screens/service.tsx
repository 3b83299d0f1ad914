/** The configuration of the service as it sells now: routes, prices, tokens and wallets. Read-only. */
import { useEffect } from 'preact/hooks'
import { useAnswer } from '../data/answer.ts'
import type { Offer, ServiceStatus, WellKnown } from '../data/answers.ts'
import { formatAddress } from '../data/route.ts'
import { service } from '../data/session.ts'
import { status, takeStatus } from '../data/status.ts'
import { Card } from '../elements/card.tsx'
import { Name } from '../elements/cells.tsx'
import { IdLine } from '../elements/copy.tsx'
import { Fact } from '../elements/fact.tsx'
import { Link } from '../elements/link.tsx'
import { Notice, Skeleton, TroubleNotice } from '../elements/states.tsx'
import { type Column, Table } from '../elements/table.tsx'
import { formatPrice, formatUnit } from '../tables/offers.ts'
import { ScreenHead } from './shell.tsx'

export function Service() {
  const known = service.value
  // The configuration is public, but the screen is for readers with access.
  const { value, trouble, reload } = useAnswer<ServiceStatus>('/api/status')
  useEffect(() => {
    if (value) takeStatus(value)
  }, [value])
  return (
    <>
      <ScreenHead title="Service" />
      {trouble ? (
        <div class="card">
          <TroubleNotice trouble={trouble} reload={reload} />
        </div>
      ) : known === undefined || value === undefined ? (
        <div class="card">
          <Skeleton lines={8} />
        </div>
      ) : (
        <div class="stack">
          <Card id="routes" title="Routes and prices">
            {known.endpoints.length === 0 ? (
              <Notice title="Nothing is for sale">
                <p>Add a route to the configuration of the gateway, or a paywall to your application.</p>
              </Notice>
            ) : (
              <Table
                class="many"
                caption="Routes and prices"
                columns={columns}
                rows={known.endpoints}
                rowKey={({ path, scope }, index) => `${path}${scope}${index}`}
              />
            )}
          </Card>
          <Card id="sold-tokens" title="Tokens">
            <Tokens tokens={known.tokens} />
          </Card>
          <Card id="identity" title="Network and keys">
            <dl class="facts card-text">
              <Fact name="Network">{known.network}</Fact>
              <IdLine name="Genesis" text={known.genesis} />
              <IdLine name="Receipt key" text={known.identityKey} />
              {known.recipients.map((recipient) => (
                <IdLine key={recipient} name="Recipient" text={recipient} />
              ))}
            </dl>
          </Card>
        </div>
      )}
    </>
  )
}

const columns: readonly Column<Offer>[] = [
  {
    name: 'Route',
    class: 'lead',
    cell: (one) => {
      const path = one.path?.replace(/^[A-Z]+ /, '') ?? ''
      const name = `${one.methods.join(', ')} ${one.path ?? 'without a name'}`
      return (
        <>
          {path === '' ? name : <Link href={formatAddress('endpoint', { name: path })}>{name}</Link>}
          <span class="narrow">{one.acceptedMints.join(', ')}</span>
        </>
      )
    },
  },
  { name: 'Price', class: 'number trail', cell: (one) => `${formatPrice(one)} for ${formatUnit(one)}` },
  { name: 'Paid in', class: 'wide', cell: ({ acceptedMints }) => acceptedMints.join(', ') },
  { name: 'Recipient', class: 'wide', cell: ({ recipient }) => <Name text={recipient} /> },
]

/** A token that is not offered has an alert that starts with its code. */
function Tokens({ tokens }: { readonly tokens: WellKnown['tokens'] }) {
  const withheld = (status.value?.alerts ?? []).filter(({ kind }) => kind === 'token_withheld')
  return (
    <dl class="facts card-text">
      {Object.entries(tokens).map(([code, mint]) => {
        const alert = withheld.find(({ detail }) => detail.startsWith(`${code}:`))
        return (
          <div key={code} class="fact">
            <dt>
              {code} <span class={`badge ${alert ? 'warn' : 'good'}`}>{alert ? 'Not offered' : 'Offered'}</span>
            </dt>
            <dd class="fact-id">
              <code>{mint.address}</code>
            </dd>
          </div>
        )
      })}
    </dl>
  )
}
