/** One payment with a wallet of this browser, from the click to the transaction on its way. */
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
import { fromBase64, signatureOf, toBase58, toBase64url } from './bytes.ts'
import * as words from './messages.ts'
import { type Answer, ask } from './service.ts'
import { isDeclined, type Purse, sends, signs } from './wallets.ts'

export interface PaymentScreen {
  readonly facts: CheckoutFacts
  readonly price: CheckoutToken
  /** Says how far it is; while it is under way nothing else begins. */
  under(notice: Notice): void
  /** Says how it ended, when nothing is on its way. */
  end(notice: Notice | undefined): void
  choose(accounts: readonly WalletAccount[]): Promise<WalletAccount>
  /** The service says otherwise: paid already, or on its way. */
  learn(state: CheckoutState): void
  sent(tx: string): void
  down(isDown: boolean): void
  /** Why nothing may be paid any more, if so; empty when it is told already. */
  objection(): string | undefined
  pause(ms: number): Promise<void>
}

export async function pay(purse: Purse, till: PaymentScreen): Promise<void> {
  const account = await connect(purse, till)
  if (!account) return
  const transaction = await prepare(account, till)
  if (!transaction) return
  till.under(words.approve(purse.name, till.price))
  const chain = till.facts.chain as IdentifierString
  const signing = purse.features[signs]
  try {
    if (signing) {
      const [signed] = await signing.signTransaction({ account, transaction, chain })
      if (!signed) return till.end(words.walletFailed(purse.name))
      await submit(signed.signedTransaction, till)
    } else {
      const [sent] = (await purse.features[sends]?.signAndSendTransaction({ account, transaction, chain })) ?? []
      if (!sent) return till.end(words.walletUnclear(purse.name))
      till.sent(toBase58(sent.signature))
    }
  } catch (error) {
    if (isDeclined(error)) till.end(words.declined)
    else till.end((signing ? words.walletFailed : words.walletUnclear)(purse.name))
  }
}

/** On a local chain the service pays itself, with money that is worth nothing. */
export async function payWithTestMoney(till: PaymentScreen): Promise<void> {
  const { facts, price } = till
  till.under(words.sending)
  const answer = await ask<Sending>({ kind: 'test', requestId: facts.requestId, token: price.token })
  till.down(answer.kind === 'down')
  if (answer.kind === 'down') till.end(words.notSent(words.silent))
  else if (answer.kind === 'refused') till.end(words.notSent(answer.detail))
  else if (answer.value.kind === 'sent') till.sent(answer.value.tx)
  else if (answer.value.kind === 'state') settle(answer.value, till)
  else till.end(words.notSent(answer.value.why))
}

/** The account that pays, on the right network; undefined when it was told why there is none. */
async function connect(purse: Purse, till: PaymentScreen): Promise<WalletAccount | undefined> {
  const { facts } = till
  const knows = ({ chains }: Pick<WalletAccount, 'chains'>) => chains.includes(facts.chain as IdentifierString)
  till.under(words.connecting(purse.name))
  try {
    const { accounts } = await purse.features['standard:connect'].connect()
    const fit = accounts.filter(knows)
    if (accounts.length > 0 && fit.length === 0) till.end(words.wrongNetwork(purse.name, facts))
    else if (fit.length === 0) till.end(words.notConnected(purse.name))
    else if (fit.length === 1) return fit[0]
    else {
      till.under(words.whichAccount)
      return await till.choose(fit)
    }
  } catch {
    till.end(words.notConnected(purse.name))
  }
  return undefined
}

async function prepare({ address }: WalletAccount, till: PaymentScreen): Promise<Uint8Array | undefined> {
  const { facts, price } = till
  till.under(words.preparing)
  const answer = await ask<Preparation>({
    kind: 'prepare',
    requestId: facts.requestId,
    token: price.token,
    account: address,
  })
  till.down(answer.kind === 'down')
  if (answer.kind === 'down') till.end(words.notSent(words.silent))
  else if (answer.kind === 'refused') till.end(words.notSent(answer.detail))
  else if (answer.value.kind === 'short') till.end(words.tooLittle(answer.value, address, facts))
  else if (answer.value.kind === 'state') settle(answer.value, till)
  else return fromBase64(answer.value.transaction)
  return undefined
}

/** Goes on until the service has answered: what is signed lands once, however often it is sent. */
async function submit(signed: Uint8Array, till: PaymentScreen): Promise<void> {
  const { requestId } = till.facts
  const order = { kind: 'submit', requestId, transaction: toBase64url(signed) } as const
  for (let wasTried = false; ; wasTried = true) {
    const objection = till.objection()
    const answer: Answer<Sending> =
      objection === undefined ? await send(order, wasTried, till) : { kind: 'refused', detail: objection }
    if (answer.kind === 'down') {
      till.under(words.sendingAgain)
      await till.pause(2_000)
      continue
    }
    const value: Sending = answer.kind === 'refused' ? { kind: 'refused', why: answer.detail } : answer.value
    if (value.kind === 'sent') return till.sent(value.tx)
    if (value.kind === 'state') return settle(value, till)
    // An earlier try may have arrived although its answer did not: then the payment is waited for.
    return wasTried ? till.sent(signatureOf(signed)) : till.end(value.why === '' ? undefined : words.notSent(value.why))
  }
}

async function send(order: CheckoutOrder, wasTried: boolean, till: PaymentScreen): Promise<Answer<Sending>> {
  till.under(wasTried ? words.sendingAgain : words.sending)
  const answer = await ask<Sending>(order)
  till.down(answer.kind === 'down')
  return answer
}

function settle({ kind: _, ...state }: { readonly kind: 'state' } & CheckoutState, till: PaymentScreen): void {
  till.learn(state as CheckoutState)
  till.end(undefined)
}
