/**
 * The tabs of this browser that show one purchase share its cookie, so any of them could open the resource. They agree on
 * one: the tab that paid, or else the tab with the highest rank among those that ask at the same time.
 */

export interface Tabs {
  /** This tab has sent the transaction. */
  sent(tx: string): void
  /** Resolves with true in the one tab that opens what the transaction bought. */
  mayOpen(tx: string): Promise<boolean>
}

interface Claim {
  readonly tx: string
  readonly rank: number
}

/** Another tab answers in a few milliseconds, also while it is hidden. */
const answerMs = 250
const sentName = 'paystile-sent'

export function joinTabs(requestId: string): Tabs {
  const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel(`paystile ${requestId}`) : undefined
  const chance = Math.random()
  let [sent, asking, highest, isLeftToOthers] = ['', '', 0, false]
  // The tab that sent it comes first, then the tab that sent it before a reload, then chance decides.
  const computeRank = (tx: string): number => chance + (tx === sent ? 2 : tx === stored() ? 1 : 0)
  const claim = (tx: string): void => channel?.postMessage({ tx, rank: computeRank(tx) } satisfies Claim)
  channel?.addEventListener('message', ({ data }: MessageEvent<Claim>) => {
    const tx = asking || data.tx
    if (!asking && computeRank(tx) < 1) isLeftToOthers = true
    else if (data.rank < computeRank(tx)) claim(tx)
    else highest = Math.max(highest, data.rank)
  })
  return {
    sent: (tx) => {
      sent = tx
      store(tx)
    },
    mayOpen: async (tx) => {
      // A tab that asked earlier does not count on this one any more. A claim now could make both give up.
      if (isLeftToOthers && computeRank(tx) < 1) return false
      asking = tx
      claim(tx)
      if (!channel || computeRank(tx) > 2) return true
      await new Promise((resolve) => setTimeout(resolve, answerMs))
      return highest < computeRank(tx)
    },
  }
}

/** A reload keeps it, and other tabs do not see it. */
function stored(): string | null {
  try {
    return sessionStorage.getItem(sentName)
  } catch {
    return null
  }
}

function store(tx: string): void {
  try {
    sessionStorage.setItem(sentName, tx)
  } catch {
    // Then a tab that is loaded again is a tab like any other.
  }
}
