/** The messages during a payment with a wallet in this browser. Each state has its own text. */
import type { CheckoutFacts, CheckoutToken, Preparation } from '../../core/checkout/messages.ts'
import type { Notice } from '../../core/checkout/texts.ts'
import { sentence } from '../../core/checkout/texts.ts'

const nothing = 'Nothing was paid.'
const startOver = 'Start over'
const loadAgain = 'Load again'

const notice = (tone: Notice['tone'], title: string, text: string, action?: string): Notice => ({
  tone,
  title,
  text,
  ...(action !== undefined && { action }),
})

export const connecting = (wallet: string) =>
  notice('busy', `Connecting to ${wallet}`, 'Allow it in your wallet. This does not pay anything yet.', startOver)

export const notConnected = (wallet: string) =>
  notice('info', 'Not connected', `${wallet} did not connect. ${nothing} You can try again.`)

export const whichAccount = notice('busy', 'Choose an account', 'Which one should pay?')

export const wrongNetwork = (wallet: string, { network }: CheckoutFacts) =>
  notice(
    'warn',
    'Wrong network',
    `${wallet} is not on Solana ${network}. Switch it to ${network} in its settings, then try again. ${nothing}`,
  )

export const preparing = notice('busy', 'Preparing the payment', 'Your wallet will ask you in a moment.')

export function tooLittle(
  { token, has, needs }: Extract<Preparation, { kind: 'short' }>,
  account: string,
  { network }: CheckoutFacts,
): Notice {
  const isTest = network !== 'mainnet'
  return {
    tone: 'warn',
    title: 'Too little money',
    text:
      `This account has ${has} ${token}, and ${needs} ${token} is needed. ${nothing} ` +
      (isTest ? 'Get test money with this command, then try again:' : 'Add some, or pay with another account.'),
    ...(isTest && { command: `npx paystile faucet ${account}` }),
  }
}

export const approve = (wallet: string, { amount, token }: CheckoutToken) =>
  notice('busy', `Approve it in ${wallet}`, `You pay ${amount} ${token}, and the fee of the network.`, startOver)

export const declined = notice('info', 'You declined', `${nothing} You can try again.`)

export const walletFailed = (wallet: string) =>
  notice(
    'warn',
    `${wallet} could not do it`,
    `The wallet reported a problem. ${nothing} Try again, or pay with your phone.`,
  )

/** A wallet that sends transactions itself may have sent it before it failed. */
export const walletUnclear = (wallet: string) =>
  notice(
    'warn',
    `${wallet} reported a problem`,
    'Look into your wallet: if it shows the payment, wait here, and it will be noticed. Pay again only if it does not.',
  )

export const notSent = (why: string) => notice('warn', 'The payment was not sent', `${sentence(why)} ${nothing}`)

export const expiredMeanwhile = 'The price expired before you approved'
export const silent = 'The service did not answer'

export const sending = notice('busy', 'Sending your payment', 'Please keep this page open for a moment.')

export const sendingAgain = notice(
  'warn',
  'The service cannot be reached',
  'You have approved the payment. This page goes on sending it, and it can be charged only once. Please keep the page open.',
)

export const confirming = notice(
  'busy',
  'Confirming your payment',
  'It was sent, and takes a few seconds to arrive. There is nothing more to do.',
)

export const confirmingOver: Notice = {
  ...confirming,
  text: 'The time for this price is over, but the payment is on its way. This page goes on waiting for it.',
}

export const missing = notice(
  'warn',
  'The payment has not arrived',
  'If your wallet shows it as done, wait here. If it failed or is not there, load this page again.',
  loadAgain,
)

export const over = notice('busy', 'The time for this price is over', 'Looking whether a payment came in time.')

export const down = notice(
  'warn',
  'The service cannot be reached',
  'If you have paid, your payment is safe: this page goes on asking. If you have not, please wait.',
)

export const outdated = (detail: string) => notice('warn', 'This page is out of date', sentence(detail), loadAgain)

export const unkept = (detail: string) =>
  notice('warn', 'Nothing can be paid on this page', sentence(detail), loadAgain)

export const opening = notice('good', 'Paid', 'Thank you. Opening what you bought.')

export const downloaded = notice(
  'good',
  'Paid',
  'Your download has begun. Should it break off, open this address again: it is delivered again then.',
)
