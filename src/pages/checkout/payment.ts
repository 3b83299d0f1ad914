/** One payment with a wallet of this browser, from the click to the sent transaction. */
import type { IdentifierString, WalletAccount } from '@wallet-standard/base'
import type {
  CheckoutFacts,
  CheckoutOrder,
  CheckoutState,
  CheckoutToken,
  Preparation,
  Sending,
} from '../../core/checkout/messages.ts'
import type { Notice } from '../../core/checkout/texts.ts'
import { fromBase64, readSignature, toBase58, toBase64url } from './bytes.ts'
import type { Messages } from './messages.ts'
import { type Answer, ask } from './service.ts'
import { type BrowserWallet, isDeclined, sends, signs } from './wallets.ts'

export interface PaymentScreen {
  readonly facts: CheckoutFacts
  readonly price: CheckoutToken
  readonly words: Messages
  /** Shows the progress. No other payment starts meanwhile. */
  under(notice: Notice): void
  /** Shows the result of a payment that sent nothing. */
  end(notice: Notice | undefined): void
  choose(accounts: readonly WalletAccount[]): Promise<WalletAccount>
  /** The service reports another state: already paid, or pending. */
  learn(state: CheckoutState): void
  sent(tx: string): void
  down(isDown: boolean): void
  /** The reason that payment is no longer possible; empty if it is already shown. */
  objection(): string | undefined
  pause(ms: number): Promise<void>
}

export async function pay(wallet: BrowserWallet, screen: PaymentScreen): Promise<void> {
  const { words } = screen
  const account = await connect(wallet, screen)
  if (!account) return
  const transaction = await prepare(account, screen)
  if (!transaction) return
  screen.under(words.approve(wallet.name, screen.price))
  const chain = screen.facts.chain as IdentifierString
  const signing = wallet.features[signs]
  try {
    if (signing) {
      const [signed] = await signing.signTransaction({ account, transaction, chain })
      if (!signed) return screen.end(words.walletFailed(wallet.name))
      await submit(signed.signedTransaction, screen)
    } else {
      const [sent] = (await wallet.features[sends]?.signAndSendTransaction({ account, transaction, chain })) ?? []
      if (!sent) return screen.end(words.walletUnclear(wallet.name))
      screen.sent(toBase58(sent.signature))
    }
  } catch (error) {
    if (isDeclined(error)) screen.end(words.declined)
    else screen.end((signing ? words.walletFailed : words.walletUnclear)(wallet.name))
  }
}

/** On a local chain the service pays itself, with worthless tokens. */
export async function payWithTestMoney(screen: PaymentScreen): Promise<void> {
  const { facts, price, words } = screen
  screen.under(words.sending)
  const order = { kind: 'test', requestId: facts.requestId, token: price.token } as const
  const sent = read(await ask<Sending>(order), screen)
  if (sent) screen.sent(sent.tx)
}

/** The paying account on the right network; undefined if the page already shows the reason for its absence. */
async function connect(wallet: BrowserWallet, screen: PaymentScreen): Promise<WalletAccount | undefined> {
  const { facts, words } = screen
  const knows = ({ chains }: Pick<WalletAccount, 'chains'>) => chains.includes(facts.chain as IdentifierString)
  screen.under(words.connecting(wallet.name))
  try {
    const { accounts } = await wallet.features['standard:connect'].connect()
    const fit = accounts.filter(knows)
    if (accounts.length > 0 && fit.length === 0) screen.end(words.wrongNetwork(wallet.name))
    else if (fit.length === 0) screen.end(words.notConnected(wallet.name))
    else if (fit.length === 1) return fit[0]
    else {
      screen.under(words.whichAccount)
      return await screen.choose(fit)
    }
  } catch {
    screen.end(words.notConnected(wallet.name))
  }
  return undefined
}

async function prepare({ address }: WalletAccount, screen: PaymentScreen): Promise<Uint8Array | undefined> {
  const { facts, price, words } = screen
  screen.under(words.preparing)
  const order = { kind: 'prepare', requestId: facts.requestId, token: price.token, account: address } as const
  const prepared = read(await ask<Preparation>(order), screen)
  if (prepared?.kind === 'short') screen.end(words.tooLittle(prepared, address))
  return prepared?.kind === 'transaction' ? fromBase64(prepared.transaction) : undefined
}

/** The value of an answer; undefined if the page already shows the reason for its absence. */
function read<T extends Preparation | Sending>(
  answer: Answer<T>,
  screen: PaymentScreen,
): Exclude<T, { readonly kind: 'refused' | 'state' }> | undefined {
  const fail = (why: string) => screen.end(screen.words.notSent(why))
  screen.down(answer.kind === 'down')
  if (answer.kind === 'down') fail(screen.facts.texts.silent)
  else if (answer.kind === 'refused') fail(answer.detail)
  else {
    const value: Preparation | Sending = answer.value
    if (value.kind === 'refused') fail(value.why)
    else if (value.kind === 'state') settle(value, screen)
    else return value as Exclude<T, { readonly kind: 'refused' | 'state' }>
  }
  return undefined
}

/** Repeats until the service responds. A signed transaction lands once, regardless of the number of attempts. */
async function submit(signed: Uint8Array, screen: PaymentScreen): Promise<void> {
  const { words, facts } = screen
  const { requestId } = facts
  const order = { kind: 'submit', requestId, transaction: toBase64url(signed) } as const
  for (let wasTried = false; ; wasTried = true) {
    const objection = screen.objection()
    const answer: Answer<Sending> =
      objection === undefined ? await send(order, wasTried, screen) : { kind: 'refused', detail: objection }
    if (answer.kind === 'down') {
      screen.under(words.sendingAgain)
      await screen.pause(2_000)
      continue
    }
    const value: Sending = answer.kind === 'refused' ? { kind: 'refused', why: answer.detail } : answer.value
    if (value.kind === 'sent') return screen.sent(value.tx)
    if (value.kind === 'state') return settle(value, screen)
    // An earlier attempt may have arrived although its response was lost. Then the page waits for the payment.
    return wasTried
      ? screen.sent(readSignature(signed))
      : screen.end(value.why === '' ? undefined : words.notSent(value.why))
  }
}

async function send(order: CheckoutOrder, wasTried: boolean, screen: PaymentScreen): Promise<Answer<Sending>> {
  const { words } = screen
  screen.under(wasTried ? words.sendingAgain : words.sending)
  const answer = await ask<Sending>(order)
  screen.down(answer.kind === 'down')
  return answer
}

function settle({ kind: _, ...state }: { readonly kind: 'state' } & CheckoutState, screen: PaymentScreen): void {
  screen.learn(state as CheckoutState)
  screen.end(undefined)
}
