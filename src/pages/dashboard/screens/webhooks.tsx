/** Webhooks: the receivers, the messages to them with their bodies, and orders to send one again or to test. */
import { useSignal } from '@preact/signals'
import { calmNews, useAnswer } from '../data/answer.ts'
import type { Delivery, Webhooks as WebhooksAnswer, WebhookTest } from '../data/answers.ts'
import { formatPath, type Outcome, post } from '../data/ask.ts'
import { change, changeAddress, formatAddress, markOpen, place } from '../data/route.ts'
import { RecordDrawer } from '../dialogs/drawer.tsx'
import { Card } from '../elements/card.tsx'
import { Count, Moment } from '../elements/cells.tsx'
import { Pick } from '../elements/choice.tsx'
import { Command, CopyButton, IdLine } from '../elements/copy.tsx'
import { Fact, Part } from '../elements/fact.tsx'
import { Link } from '../elements/link.tsx'
import { sentence } from '../elements/outgoing.tsx'
import { Notice, When } from '../elements/states.tsx'
import { type Column, Table } from '../elements/table.tsx'
import { ScreenHead } from './shell.tsx'

const mostShown = 50
const states = { waiting: ['warn', 'Waiting'], delivered: ['good', 'Delivered'], failed: ['bad', 'Failed'] } as const
type State = keyof typeof states

export function Webhooks() {
  const asked = place.value.query.get('state') ?? ''
  const state = asked in states ? asked : undefined
  const loaded = useAnswer<WebhooksAnswer>(formatPath('/api/webhooks', { state, limit: mostShown }), {
    follows: calmNews,
  })
  return (
    <>
      <ScreenHead title="Webhooks" />
      <div class="framed">
        <When loaded={loaded} lines={8}>
          {({ receivers, deliveries }) =>
            receivers.length === 0 && deliveries.length === 0 && state === undefined ? (
              <Off />
            ) : (
              <div class="stack">
                <Receivers receivers={receivers} />
                <Card
                  id="deliveries"
                  title="Messages"
                  tools={
                    <Pick
                      label="State"
                      any="All states"
                      options={Object.keys(states)}
                      value={state ?? ''}
                      onChange={(value) => change({ state: value })}
                    />
                  }
                >
                  {deliveries.length === 0 ? (
                    <Notice title="No messages">
                      <p>The first one is sent with the next payment.</p>
                    </Notice>
                  ) : (
                    <>
                      <Table
                        class="many"
                        caption="Messages, newest first"
                        columns={createColumns(receivers.length > 1)}
                        rows={deliveries}
                        rowKey={({ id }) => id}
                        rowClass={({ id }) => markOpen('delivery', id)}
                      />
                      {deliveries.length === mostShown && (
                        <div class="card-foot muted">The latest {mostShown} messages.</div>
                      )}
                    </>
                  )}
                </Card>
              </div>
            )
          }
        </When>
      </div>
      <RecordDrawer<Delivery & { readonly body: string | null }>
        title="Message"
        parameter="delivery"
        path="/api/webhooks"
        everyMs={3_000}
        missing={['Message not found', 'look for it in the list']}
      >
        {(delivery) => <Message delivery={delivery} />}
      </RecordDrawer>
    </>
  )
}

function Off() {
  return (
    <div class="card">
      <Notice title="No webhooks">
        <p>
          Set the option <code>webhooks</code> to tell your application of payments; <code>docs/webhooks.md</code> says
          how. To test a receiver before that:
        </p>
        <Command text="npx paystile webhooks test --url https://example.com/hook" />
      </Notice>
    </div>
  )
}

function Badge({ state, attempts }: { readonly state: State; readonly attempts: number }) {
  const [tone, name] = states[state]
  return <span class={`badge ${tone}`}>{state === 'waiting' && attempts > 0 ? 'Retrying' : name}</span>
}

/** A list has no room for the part that all addresses have. */
function trimScheme(address: string): string {
  return address.replace(/^https?:\/\//, '')
}

/** On a tablet, the only receiver is not repeated in each line. Several leave no room for the attempts. */
const createColumns = (hasSeveral: boolean): readonly Column<Delivery>[] => [
  {
    name: 'Event',
    class: 'lead',
    cell: ({ id, type, address }) => (
      <Link href={changeAddress({ delivery: id })} class="row-link" row={id}>
        {type}
        <span class="narrow">{trimScheme(address)}</span>
      </Link>
    ),
  },
  {
    name: 'State',
    class: 'trail',
    cell: ({ state, attempts, at }) => (
      <>
        <Badge {...{ state, attempts }} />
        <span class="narrow">
          <Moment at={at} />
        </span>
      </>
    ),
  },
  {
    name: 'Receiver',
    class: hasSeveral ? 'wide' : 'wide spare',
    cellClass: 'endpoint one-line',
    // The end tells receivers of one host apart, so the start is cut off.
    cell: ({ address, receiver }) => <bdi>{trimScheme(address) || receiver || 'all'}</bdi>,
    title: ({ address }) => address,
  },
  {
    name: 'Attempts',
    class: hasSeveral ? 'number wide spare' : 'number wide',
    cell: ({ attempts }) => <Count count={attempts} />,
  },
  { name: 'Problem', class: 'wide', cellClass: 'waits', cell: ({ why }) => sentence(why) },
  { name: 'When', class: 'when wide', cell: ({ at }) => <Moment at={at} /> },
]

function Receivers({ receivers }: { readonly receivers: WebhooksAnswer['receivers'] }) {
  return (
    <Card id="receivers" title="Receivers">
      {receivers.length === 0 ? (
        <p class="card-text muted">This server has no receivers. Another one on the same ledger sends the messages.</p>
      ) : (
        <ul class="receivers">
          {receivers.map((receiver) => (
            <Receiver key={receiver.name} receiver={receiver} />
          ))}
        </ul>
      )}
    </Card>
  )
}

function Receiver({ receiver: { name, address, events } }: { readonly receiver: WebhooksAnswer['receivers'][number] }) {
  const said = useSignal<{ readonly text: string; readonly isGood: boolean } | 'busy' | undefined>(undefined)
  const test = async () => {
    said.value = 'busy'
    const outcome = await post<WebhookTest>('/api/webhooks/test', { receiver: name })
    said.value =
      outcome.kind === 'answer'
        ? outcome.value.isAccepted
          ? { text: `Accepted with status ${outcome.value.status}.`, isGood: true }
          : { text: `Not accepted: ${outcome.value.why}.`, isGood: false }
        : { text: describeFailure(outcome), isGood: false }
  }
  const result = said.value === 'busy' ? undefined : said.value
  return (
    <li class="receiver">
      <div>
        <b>{address}</b>
        <p class="muted">{events.join(', ')}</p>
        {result && (
          <p role="status" class={result.isGood ? 'good-text' : 'error'}>
            {result.text}
          </p>
        )}
      </div>
      <button type="button" class="button" disabled={said.value === 'busy'} onClick={() => void test()}>
        {said.value === 'busy' ? 'Sending…' : 'Send a test'}
      </button>
    </li>
  )
}

function describeFailure(outcome: Exclude<Outcome<unknown>, { kind: 'answer' }>): string {
  if ('detail' in outcome) return outcome.detail
  return outcome.kind === 'unreachable' ? 'The service does not respond. Try again.' : 'Sign in as an owner for this.'
}

function Message({ delivery }: { readonly delivery: Delivery & { readonly body: string | null } }) {
  const { id, type, state, address, receiver, at, attempts, why, body } = delivery
  const said = useSignal('')
  const resend = async () => {
    const outcome = await post('/api/webhooks/resend', { id })
    said.value = outcome.kind === 'answer' ? 'It is sent again within seconds.' : describeFailure(outcome)
  }
  return (
    <div class="detail">
      <Part title={type}>
        <dl class="facts">
          <Fact name="State">
            <Badge {...{ state, attempts }} />
          </Fact>
          <Fact name="Receiver">{address || receiver || 'not sent yet'}</Fact>
          <Fact name="Event at">
            <Moment at={at} isExact />
          </Fact>
          <Fact name="Attempts">
            <Count count={attempts} />
          </Fact>
          {why !== '' && <Fact name="Problem">{sentence(why)}</Fact>}
          <IdLine name="webhook-id" text={id} />
        </dl>
        {receiver !== '' && (
          <div class="refund-choices">
            <button type="button" class="button" onClick={() => void resend()}>
              Send again
            </button>
          </div>
        )}
        <p role="status" class="muted">
          {said.value}
        </p>
      </Part>
      <section class="detail-part raw">
        <h3>Body, as it is sent now</h3>
        {body === null ? (
          <p class="muted">
            It names transactions of payers, so <Link href={formatAddress('sign-in')}>an owner who is signed in</Link>{' '}
            reads it.
          </p>
        ) : (
          <>
            <div class="raw-tools">
              <CopyButton text={body} what="the body" />
            </div>
            <pre>{formatBody(body)}</pre>
          </>
        )}
      </section>
    </div>
  )
}

function formatBody(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
