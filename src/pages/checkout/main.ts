/** The script of the checkout page. The server renders the page, and this script makes it interactive. */
import './checkout.css'
import type { CheckoutFacts, CheckoutState } from '../../core/checkout/messages.ts'
import { isPayable, openedElsewhere } from '../../core/checkout/texts.ts'
import { monotonic } from '../look/clock.ts'
import { remainingMs, startCountdown } from './countdown.ts'
import { createMessages } from './messages.ts'
import { isEnded, isHeldBack, isIdle, isOffered, type PageState, tell } from './page-state.ts'
import { type PaymentScreen, pay, payWithTestMoney } from './payment.ts'
import { type Heard, keepAsking } from './polling.ts'
import { showReceipt } from './receipt.ts'
import { openElsewhere, showResource } from './resource.ts'
import { disableChoices, find, offerAccounts, offerWallets, show } from './screen.ts'
import { ask } from './service.ts'
import { joinTabs } from './tabs.ts'
import { startChoice } from './token-choice.ts'
import { offerApps } from './wallet-apps.ts'
import { type BrowserWallet, watchWallets } from './wallets.ts'

const facts: CheckoutFacts = JSON.parse(find('facts').textContent ?? '')
const { requestId, texts } = facts
const words = createMessages(facts)
const tabs = joinTabs(requestId)
let page: PageState = { standing: facts.standing, isDown: false, isKept: facts.isKept, isOver: false }
let wallets: readonly BrowserWallet[] = []
let isChoosing = false
let failures = 0

function change(part: Partial<PageState>): void {
  page = { ...page, ...part }
  const offer = { isOffered: isOffered(page), isHeldBack: isHeldBack(page) }
  show(tell(page, facts, words, monotonic()), offer, texts, facts.isReadable ? () => void openHere(true) : undefined)
  disableChoices(page.step?.isBusy === true, page.isDown)
}

function drawWallets(): void {
  if (isChoosing) return
  const isLocal = facts.network === 'localnet'
  offerWallets(
    wallets,
    texts,
    (wallet) => void start((screen) => pay(wallet, screen)),
    isLocal ? () => void start(payWithTestMoney) : undefined,
  )
  disableChoices(page.step?.isBusy === true, page.isDown)
}

/** Ignores a second click while a payment is in progress. */
async function start(work: (screen: PaymentScreen) => Promise<void>): Promise<void> {
  if (page.isDown || !isIdle(page)) return
  const screen: PaymentScreen = {
    facts,
    price: choice.price(),
    words,
    under: (notice) => change({ step: { notice, isBusy: true } }),
    end: (notice) => change({ step: notice && { notice, isBusy: false } }),
    choose: async (accounts) => {
      isChoosing = true
      try {
        return await offerAccounts(accounts, texts)
      } finally {
        isChoosing = false
        find('notice').focus()
        drawWallets()
      }
    },
    learn,
    sent: (tx) => {
      tabs.sent(tx)
      change({ sent: { tx, at: monotonic() }, step: undefined })
      hurry()
    },
    down: (isDown) => change({ isDown }),
    objection: () => {
      if (!isPayable(page.standing)) return ''
      return remainingMs(facts) > 0 ? undefined : texts.expiredMeanwhile
    },
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  }
  await work(screen)
}

function learn(standing: CheckoutState): void {
  change({ standing, isDown: false, isKept: true, objection: undefined })
  if (standing.state === 'paid') void finish(standing.tx, false)
}

/**
 * One tab shows the receipt and the link to the resource, or the resource itself. The other tabs offer nothing. The
 * receipt can be below the resource, so it comes after it.
 */
async function finish(tx: string, opens: boolean): Promise<void> {
  if (facts.after === 'return' || page.last) return
  change({ last: words.paid })
  if (!(await tabs.mayOpen(tx))) return change({ last: openedElsewhere(tx, texts) })
  change({ last: undefined })
  if (opens) await openHere(false)
  change({ hasReceipt: await showReceipt(facts, requestId) })
}

/** Shows the purchase in the page if it is JSON. Otherwise the browser opens it, if the person asked for that. */
async function openHere(isAsked: boolean): Promise<void> {
  if (page.isOpening || page.isOpened) return
  const [resource, receipt] = [find('resource'), find('receipt')]
  // The parts take their places with the click. The receipt comes after the purchase, so the answer moves nothing.
  resource.hidden = false
  receipt.hidden = true
  change({ isOpening: true })
  const isOpened = await showResource(resource, requestId, texts)
  resource.hidden = !isOpened
  receipt.hidden = !page.hasReceipt
  change({ isOpening: false, isOpened })
  if (!isOpened && isAsked) openElsewhere()
}

async function listen(): Promise<Heard> {
  const answer = await ask<CheckoutState>({ kind: 'status', requestId, ...(page.sent && { tx: page.sent.tx }) })
  if (isEnded(page)) return 'ended'
  const isUnderWay = page.sent !== undefined || page.step?.isBusy === true
  if (answer.kind === 'refused' && !isUnderWay) {
    const isUnkept = answer.code === 'claim_required'
    change(isUnkept ? { objection: words.unkept(answer.detail) } : { last: words.outdated(answer.detail) })
    return isUnkept ? 'quiet' : 'ended'
  }
  if (answer.kind !== 'answer') {
    failures += 1
    // A single lost request is not reported.
    if (failures > 1) change({ isDown: true })
    return 'failed'
  }
  failures = 0
  // A page that is older than the service reloads, once for each version: several servers may serve different ones. A
  // browser that keeps cookies has a storage.
  const { version } = answer
  if (version && version !== facts.version && isIdle(page) && sessionStorage[requestId] !== version) {
    sessionStorage[requestId] = version
    location.reload()
  }
  const isNews = answer.value.state !== page.standing.state
  learn(answer.value)
  if (isEnded(page)) return 'ended'
  return isNews || isUnderWay || answer.value.state === 'confirming' ? 'lively' : 'quiet'
}

offerApps(facts)
const choice = startChoice(facts, (isDown) => change({ isDown }))
watchWallets(facts, (found) => {
  wallets = found
  drawWallets()
})
change({})
if (facts.bought !== undefined) void showReceipt(facts, facts.bought)
// A visit after the payment: the person came for the purchase.
if (facts.standing.state === 'paid' && facts.isReadable) void finish(facts.standing.tx, true)
const hurry = isEnded(page) ? () => {} : keepAsking(listen)
if (!facts.isKept) hurry()
startCountdown(facts, () => {
  change({ isOver: true })
  hurry()
})
