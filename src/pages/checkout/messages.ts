/** What people are told while they pay with a wallet in this browser. Each state has words of its own. */
import type { CheckoutFacts, CheckoutToken, Preparation } from '../../core/checkout/messages.ts'
import type { Notice } from '../../core/checkout/texts.ts'
import { sentence } from '../../core/checkout/texts.ts'

const nothing = 'Nothing was paid.'
const startOver = 'Start over'

export const connecting = (wallet: string): Notice => ({
  tone: 'busy',
  title: `Connecting to ${wallet}`,
  text: 'Allow it in your wallet. This does not pay anything yet.',
  action: startOver,
})

export const notConnected = (wallet: string): Notice => ({
  tone: 'info',
  title: 'Not connected',
  text: `${wallet} did not connect. ${nothing} You can try again.`,
})

export const whichAccount: Notice = { tone: 'busy', title: 'Choose an account', text: 'Which one should pay?' }

export const wrongNetwork = (wallet: string, { network }: CheckoutFacts): Notice => ({
  tone: 'warn',
  title: 'Wrong network',
  text: `${wallet} is not on Solana ${network}. Switch it to ${network} in its settings, then try again. ${nothing}`,
})

export const preparing: Notice = {
  tone: 'busy',
  title: 'Preparing the payment',
  text: 'Your wallet will ask you in a moment.',
}

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

export const approve = (wallet: string, { amount, token }: CheckoutToken): Notice => ({
  tone: 'busy',
  title: `Approve it in ${wallet}`,
  text: `You pay ${amount} ${token}, and the fee of the network.`,
  action: startOver,
})

export const declined: Notice = { tone: 'info', title: 'You declined', text: `${nothing} You can try again.` }

export const walletFailed = (wallet: string): Notice => ({
  tone: 'warn',
  title: `${wallet} could not do it`,
  text: `The wallet reported a problem. ${nothing} Try again, or pay with your phone.`,
})

/** A wallet that sends by itself may have done so before it failed. */
export const walletUnclear = (wallet: string): Notice => ({
  tone: 'warn',
  title: `${wallet} reported a problem`,
  text: 'Look into your wallet: if it shows the payment, wait here, and it will be noticed. Pay again only if it does not.',
})

export const notSent = (why: string): Notice => ({
  tone: 'warn',
  title: 'The payment was not sent',
  text: `${sentence(why)} ${nothing}`,
})

export const expiredMeanwhile = 'The price expired before you approved'
export const silent = 'The service did not answer'

export const sending: Notice = {
  tone: 'busy',
  title: 'Sending your payment',
  text: 'Please keep this page open for a moment.',
}

export const sendingAgain: Notice = {
  tone: 'warn',
  title: 'The service cannot be reached',
  text: 'You have approved the payment. This page goes on sending it, and it can be charged only once. Please keep the page open.',
}

export const confirming: Notice = {
  tone: 'busy',
  title: 'Confirming your payment',
  text: 'It was sent, and takes a few seconds to arrive. There is nothing more to do.',
}

export const confirmingOver: Notice = {
  ...confirming,
  text: 'The time for this price is over, but the payment is on its way. This page goes on waiting for it.',
}

export const missing: Notice = {
  tone: 'warn',
  title: 'The payment has not arrived',
  text: 'If your wallet shows it as done, wait here. If it failed or is not there, load this page again.',
  action: 'Load again',
}

export const over: Notice = {
  tone: 'busy',
  title: 'The time for this price is over',
  text: 'Looking whether a payment came in time.',
}

export const down: Notice = {
  tone: 'warn',
  title: 'The service cannot be reached',
  text: 'If you have paid, your payment is safe: this page goes on asking. If you have not, please wait.',
}

export const outdated = (detail: string): Notice => ({
  tone: 'warn',
  title: 'This page is out of date',
  text: sentence(detail),
  action: 'Load again',
})

export const unkept = (detail: string): Notice => ({
  tone: 'warn',
  title: 'Nothing can be paid on this page',
  text: sentence(detail),
  action: 'Load again',
})

export const opening: Notice = { tone: 'good', title: 'Paid', text: 'Thank you. Opening what you bought.' }

export const downloaded: Notice = {
  tone: 'good',
  title: 'Paid',
  text: 'Your download has begun. Should it break off, open this address again: it is delivered again then.',
}
