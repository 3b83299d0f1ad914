/**
 * The tabs of this browser that show one purchase share its cookie, so any of them could open the resource. They agree
 * on one: the tab that paid, or the tab with the highest rank among those that ask at the same time.
 */
import { attempt } from '../../core/errors/attempt.ts'

interface Claim {
  readonly tx: string
  readonly rank: number
}

/** Another tab responds within a few milliseconds, even while it is hidden. */
const answerMs = 250
const sentName = 'paystile-sent'

export function joinTabs(requestId: string) {
  const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel(`paystile ${requestId}`) : undefined
  const chance = Math.random()
  let [sent, asking, highest, isLeftToOthers] = ['', '', 0, false]
  // Highest rank: the tab that sent it, then the tab that sent it before a reload, then a random tab.
  const computeRank = (tx: string): number => chance + (tx === sent ? 2 : tx === stored() ? 1 : 0)
  const claim = (tx: string): void => channel?.postMessage({ tx, rank: computeRank(tx) } satisfies Claim)
  channel?.addEventListener('message', ({ data }: MessageEvent<Claim>) => {
    const tx = asking || data.tx
    if (!asking && computeRank(tx) < 1) isLeftToOthers = true
    else if (data.rank < computeRank(tx)) claim(tx)
    else highest = Math.max(highest, data.rank)
  })
  return {
    /** This tab sent the transaction. */
    sent: (tx: string) => {
      sent = tx
      store(tx)
    },
    /** Resolves with true in the one tab that opens the purchased resource. */
    mayOpen: async (tx: string) => {
      // A tab that asked earlier no longer counts on this one. A claim now could make both give up.
      if (isLeftToOthers && computeRank(tx) < 1) return false
      asking = tx
      claim(tx)
      if (!channel || computeRank(tx) > 2) return true
      await new Promise((resolve) => setTimeout(resolve, answerMs))
      return highest < computeRank(tx)
    },
  }
}

export type Tabs = ReturnType<typeof joinTabs>

/** Survives a reload and is not visible to other tabs. */
function stored(): string | null {
  return attempt(() => sessionStorage.getItem(sentName)) ?? null
}

function store(tx: string): void {
  try {
    sessionStorage.setItem(sentName, tx)
  } catch {
    // Without storage, a reloaded tab has no precedence.
  }
}
