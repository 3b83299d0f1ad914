/** The messages during a payment with a wallet in this browser. Each state has its own text. */
import type { CheckoutFacts, CheckoutToken, Preparation } from '../../core/checkout/messages.ts'
import { type Notice, sentence } from '../../core/checkout/texts.ts'

const nothing = 'Nothing was paid.'
const startOver = 'Start over'
const loadAgain = 'Reload'

const notice = (tone: Notice['tone'], title: string, text: string, action?: string): Notice => ({
  tone,
  title,
  text,
  ...(action !== undefined && { action }),
})

export const connecting = (wallet: string) =>
  notice(
    'busy',
    `Connecting to ${wallet}`,
    'Allow the connection in your wallet. This does not pay anything yet.',
    startOver,
  )

export const notConnected = (wallet: string) =>
  notice('info', 'Not connected', `${wallet} did not connect. ${nothing} You can try again.`)

export const whichAccount = notice('busy', 'Choose an account', 'Select the account that pays.')

export const wrongNetwork = (wallet: string, { network }: CheckoutFacts) =>
  notice(
    'warn',
    'Wrong network',
    `${wallet} is not connected to Solana ${network}. Switch it to ${network} in its settings, then try again. ${nothing}`,
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
    title: 'Insufficient balance',
    text:
      `This account has ${has} ${token}, but needs ${needs} ${token}. ${nothing} ` +
      (isTest ? 'Get test money with this command, then try again:' : 'Add funds, or pay with another account.'),
    ...(isTest && { command: `npx paystile faucet ${account}` }),
  }
}

export const approve = (wallet: string, { amount, token }: CheckoutToken) =>
  notice('busy', `Approve it in ${wallet}`, `You pay ${amount} ${token} plus the network fee.`, startOver)

export const declined = notice('info', 'You declined', `${nothing} You can try again.`)

export const walletFailed = (wallet: string) =>
  notice(
    'warn',
    `${wallet} could not pay`,
    `The wallet reported a problem. ${nothing} Try again, or pay with your phone.`,
  )

/** A wallet that sends transactions itself may have sent it before it failed. */
export const walletUnclear = (wallet: string) =>
  notice(
    'warn',
    `${wallet} reported a problem`,
    'Check your wallet. If it shows the payment, wait here. Pay again only if it does not.',
  )

export const notSent = (why: string) => notice('warn', 'The payment was not sent', `${sentence(why)} ${nothing}`)

export const expiredMeanwhile = 'The price expired before you approved'
export const silent = 'The service did not respond'

export const sending = notice('busy', 'Sending your payment', 'Please keep this page open for a moment.')

export const sendingAgain = notice(
  'warn',
  'The service cannot be reached',
  'You approved the payment. This page keeps sending it, and it can be charged only once. Please keep the page open.',
)

export const confirming = notice(
  'busy',
  'Confirming your payment',
  'The payment was sent and arrives within a few seconds. You do not need to do anything.',
)

export const confirmingOver: Notice = {
  ...confirming,
  text: 'This price has expired, but the payment is on its way. This page keeps waiting for it.',
}

export const missing = notice(
  'warn',
  'The payment has not arrived',
  'If your wallet shows it as completed, wait here. If it failed or is missing, reload this page.',
  loadAgain,
)

export const over = notice('busy', 'The time to pay has ended', 'Checking for a payment that arrived in time.')

export const down = notice(
  'warn',
  'The service cannot be reached',
  'If you have paid, your payment is safe. This page keeps trying to reach the service.',
)

export const outdated = (detail: string) => notice('warn', 'This page is out of date', sentence(detail), loadAgain)

export const unkept = (detail: string) => notice('warn', 'This page cannot take payments', sentence(detail), loadAgain)

export const paid = notice('good', 'Paid', 'Thank you.')
