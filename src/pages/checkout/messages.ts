/** The messages during a payment with a wallet in this browser. Each state has its own text. */
import { fill } from '../../core/checkout/languages/fill.ts'
import type { CheckoutFacts, CheckoutToken, Preparation } from '../../core/checkout/messages.ts'
import { type Notice, sentence, type Wording } from '../../core/checkout/texts.ts'
import { formatDecimal } from '../../core/money/money.ts'

type Values = Readonly<Record<string, string>>

export type Messages = ReturnType<typeof createMessages>

/** The messages in the language of the page. */
export function createMessages({ texts, locale, network }: Wording & Pick<CheckoutFacts, 'network'>) {
  const notice = (tone: Notice['tone'], title: string, text: string, values: Values = {}, action?: string): Notice => ({
    tone,
    title: fill(title, values),
    text: fill(text, values),
    ...(action !== undefined && { action }),
  })
  const confirming = notice('busy', texts.confirmingTitle, texts.confirmingText)
  return {
    connecting: (wallet: string) =>
      notice('busy', texts.connectingTitle, texts.connectingText, { wallet }, texts.startOver),
    notConnected: (wallet: string) => notice('info', texts.notConnectedTitle, texts.notConnectedText, { wallet }),
    whichAccount: notice('busy', texts.accountTitle, texts.accountText),
    wrongNetwork: (wallet: string) => notice('warn', texts.networkTitle, texts.networkText, { wallet, network }),
    preparing: notice('busy', texts.preparingTitle, texts.preparingText),
    tooLittle: ({ token, has, needs }: Extract<Preparation, { kind: 'short' }>, account: string): Notice => {
      const isTest = network !== 'mainnet'
      const values = { token, has: formatDecimal(has, locale), needs: formatDecimal(needs, locale) }
      return {
        ...notice(
          'warn',
          texts.balanceTitle,
          `${texts.balanceText} ${isTest ? texts.testMoney : texts.addFunds}`,
          values,
        ),
        ...(isTest && { command: `npx paystile faucet ${account}` }),
      }
    },
    approve: (wallet: string, { amount, token }: CheckoutToken) => {
      const values = { wallet, token, amount: formatDecimal(amount, locale) }
      return notice('busy', texts.approveTitle, texts.approveText, values, texts.startOver)
    },
    declined: notice('info', texts.declinedTitle, texts.declinedText),
    walletFailed: (wallet: string) => notice('warn', texts.failedTitle, texts.failedText, { wallet }),
    /** A wallet that sends transactions itself may have sent it before it failed. */
    walletUnclear: (wallet: string) => notice('warn', texts.unclearTitle, texts.unclearText, { wallet }),
    notSent: (why: string) => notice('warn', texts.notSentTitle, texts.notSentText, { why: sentence(why) }),
    sending: notice('busy', texts.sendingTitle, texts.sendingText),
    sendingAgain: notice('warn', texts.downTitle, texts.sendingAgainText),
    confirming,
    confirmingOver: { ...confirming, text: texts.confirmingOverText },
    missing: notice('warn', texts.missingTitle, texts.missingText, {}, texts.reload),
    over: notice('busy', texts.overTitle, texts.overText),
    down: notice('warn', texts.downTitle, texts.downText),
    outdated: (detail: string) => notice('warn', texts.outdatedTitle, '{why}', { why: sentence(detail) }, texts.reload),
    unkept: (detail: string) => notice('warn', texts.unkeptTitle, '{why}', { why: sentence(detail) }, texts.reload),
    /** As high as the next one. */
    opening: notice('busy', texts.opening, texts.thanks),
    paid: notice('good', texts.paidTitle, texts.thanks),
  } as const
}
