/** Editing the prices in the gateway's file: the new prices, then the change of the file, then the result. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { trimGet } from '../../look/route-names.ts'
import type { PriceEdit, PriceFile } from '../data/answers.ts'
import { type Outcome, post } from '../data/ask.ts'
import { Dialog } from './dialog.tsx'

interface PricesDialogProps {
  readonly file: PriceFile
  /** Called with true after prices were saved. */
  readonly onClose: (isSaved: boolean) => void
}

export function PricesDialog({ file, onClose }: PricesDialogProps) {
  const typed = useSignal<ReadonlyMap<number, string>>(new Map())
  const shown = useSignal<PriceEdit | undefined>(undefined)
  const trouble = useSignal('')
  const isBusy = useSignal(false)
  const reason = useRef<HTMLParagraphElement>(null)
  // A long list ends below the window.
  useEffect(() => reason.current?.scrollIntoView({ block: 'nearest' }), [trouble.value])
  const changed = file.routes.flatMap(({ route, price: now }) => {
    const price = typed.value.get(route)?.trim() ?? now
    return price === now ? [] : [{ route, price }]
  })
  const send = async (save: boolean) => {
    isBusy.value = true
    trouble.value = ''
    const outcome = await post<PriceEdit>('/api/prices', { version: file.version, prices: changed, save })
    isBusy.value = false
    if (outcome.kind === 'answer') shown.value = outcome.value
    else trouble.value = describeTrouble(outcome)
  }
  const edit = shown.value
  const isSaved = edit?.isSaved === true
  return (
    <Dialog
      title={titles[edit === undefined ? 'edit' : isSaved ? 'saved' : 'review']}
      class="panel prices"
      onClose={() => onClose(isSaved)}
    >
      <form
        class="ask"
        onSubmit={(event) => {
          event.preventDefault()
          if (isSaved) onClose(true)
          else void send(edit !== undefined)
        }}
      >
        {edit === undefined ? <Fields file={file} typed={typed} /> : <Change file={file.file} edit={edit} />}
        {trouble.value !== '' && (
          <p class="error" role="alert" ref={reason}>
            {trouble.value}
          </p>
        )}
        {isSaved ? (
          <>
            <p role="status">The gateway sells at the new prices. Quotes that buyers already have keep their price.</p>
            <div class="ask-buttons">
              <button type="submit" class="button button-main">
                Done
              </button>
            </div>
          </>
        ) : (
          <div class="ask-buttons">
            <button
              type="button"
              class="button"
              onClick={() => {
                trouble.value = ''
                if (edit === undefined) onClose(false)
                else shown.value = undefined
              }}
            >
              {edit === undefined ? 'Cancel' : 'Back'}
            </button>
            <button type="submit" class="button button-main" disabled={isBusy.value || changed.length === 0}>
              {edit === undefined ? 'Review the change' : isBusy.value ? 'Saving…' : 'Save and apply'}
            </button>
          </div>
        )}
      </form>
    </Dialog>
  )
}

const titles = { edit: 'Edit prices', review: 'Review the change', saved: 'Prices saved' } as const

/** As the service reads a price. The browser reports another text beside its field. */
const decimal = '(0|[1-9]\\d{0,11})(\\.\\d{1,18})?'

interface FieldsProps {
  readonly file: PriceFile
  readonly typed: { value: ReadonlyMap<number, string> }
}

function Fields({ file, typed }: FieldsProps) {
  return (
    <ul class="price-fields">
      {file.routes.map(({ route, name, price, token, why }) => (
        <li key={route}>
          <label for={`price-${route}`}>{trimGet(name)}</label>
          <span class="price-field">
            <input
              id={`price-${route}`}
              inputMode="decimal"
              autocomplete="off"
              required
              pattern={decimal}
              title="A decimal number such as 0.01"
              disabled={why !== ''}
              value={typed.value.get(route) ?? price}
              onInput={(event) => {
                typed.value = new Map(typed.value).set(route, event.currentTarget.value)
              }}
            />
            <span class="muted">{token}</span>
          </span>
          {why !== '' && <p class="muted">The price {why}.</p>}
        </li>
      ))}
    </ul>
  )
}

/** The lines of the file as they were and as they will be. */
function Change({ file, edit }: { readonly file: string; readonly edit: PriceEdit }) {
  return (
    <ul class="price-change">
      {edit.lines.map(({ route, name, line, before, after }) => (
        <li key={route}>
          <p>
            <b>{trimGet(name)}</b>{' '}
            <span class="muted">
              {file}, line {line}
            </span>
          </p>
          <pre>
            <del>
              <span class="unseen">Old: </span>
              {`- price: ${before}`}
            </del>
            <ins>
              <span class="unseen">New: </span>
              {`+ price: ${after}`}
            </ins>
          </pre>
        </li>
      ))}
    </ul>
  )
}

function describeTrouble(outcome: Exclude<Outcome<unknown>, { kind: 'answer' }>): string {
  if (outcome.kind === 'failed' && outcome.code === 'prices_stale')
    return 'The file has changed since this page loaded it. Close this panel and open it again.'
  if ('detail' in outcome) return outcome.detail
  if (outcome.kind === 'unreachable')
    return 'The service does not respond, so the outcome is unknown. Close this panel and look at the prices.'
  return 'Sign in as an owner to edit prices.'
}
