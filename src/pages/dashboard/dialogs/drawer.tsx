import type { ComponentChildren } from 'preact'
import { news, useAnswer } from '../data/answer.ts'
import { usePulse } from '../data/pulse.ts'
import { change, place } from '../data/route.ts'
import { Notice, When } from '../elements/states.tsx'
import { Dialog } from './dialog.tsx'

interface RecordDrawerProps<Detail> {
  readonly title: string
  /** The parameter of the address with the id of the record. */
  readonly parameter: string
  /** The path of the service that precedes the id of the record. */
  readonly path: string
  /** Interval of reloads; without it, every payment triggers a reload. */
  readonly everyMs?: number
  /** The title and the advice for a missing record. */
  readonly missing: readonly [title: string, advice: string]
  readonly children: (detail: Detail) => ComponentChildren
}

export function RecordDrawer<Detail>(props: RecordDrawerProps<Detail>) {
  const id = place.value.query.get(props.parameter)
  if (id === null) return null
  return (
    <Dialog title={props.title} class="drawer" onClose={() => change({ [props.parameter]: undefined })}>
      <Record key={id} id={id} {...props} />
    </Dialog>
  )
}

function Record<Detail>({ id, path, everyMs, missing, children }: RecordDrawerProps<Detail> & { readonly id: string }) {
  const pulse = usePulse(everyMs ?? 0)
  const loaded = useAnswer<Detail>(`${path}/${encodeURIComponent(id)}`, {
    follows: everyMs === undefined ? news : pulse,
  })
  if (loaded.trouble?.kind === 'missing')
    return (
      <Notice title={missing[0]}>
        <p>The link may be from another service. Close this, and {missing[1]}.</p>
      </Notice>
    )
  return (
    <When loaded={loaded} lines={12}>
      {children}
    </When>
  )
}
