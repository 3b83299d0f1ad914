/** Answers of a service from which money goes out: every part of them that a screen shows. */
const tx = '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW'
export const wallet = 'GfEsNwVbqJcDwR1vLDVZ4aQ1TcW3RkqPHmZq2Ao8iYbT'

const headOf = (id: string, at: string) => ({
  ...{ id, state: 'landed', at, changedAt: at, attempts: 1, tx, slot: 4242, why: '' },
})

export const refundAnswer = (name: string, at: string) => ({
  ...headOf('refund-1', at),
  ...{ payment: name, token: 'USDC', amount: '0.25', reason: 'late' },
})

export function rewardsAnswer(name: string, at: string) {
  const sums = { accrued: '340', due: '20', underWay: '150', paid: '150' }
  const none = { accrued: '0', due: '0', underWay: '0', paid: '0' }
  return {
    token: 'NATIVE',
    isOn: true,
    paused: true,
    ripening: 3,
    threshold: '0.5',
    rules: {
      partners: [{ name, wallet, share: '90', endpoints: [name, '/api/*'] }],
      developers: '4',
      cashback: [
        { from: '0', share: '1' },
        { from: '100', share: '5' },
      ],
      rest: [
        { role: 'treasury', wallet, weight: 2 },
        { role: 'buyback', wallet, weight: 1 },
        { role: 'incentives', wallet, weight: 1 },
      ],
      withoutPartner: false,
    },
    wallet: { address: wallet, native: '12.5', sol: '0.001' },
    roles: [
      { role: 'partner', payees: 1, ...sums },
      { role: 'developer', payees: 0, ...none },
      { role: 'cashback', payees: 2, ...sums },
      { role: 'treasury', payees: 1, ...sums },
      { role: 'buyback', payees: 1, ...none },
      { role: 'incentives', payees: 1, ...none },
    ],
    payouts: payoutsOf(at),
  }
}

function payoutsOf(at: string) {
  return [
    { ...headOf('payout-3', at), state: 'planned', tx: null, slot: null, payees: 1, amount: '30', why: 'no rate' },
    { ...headOf('payout-2', at), state: 'signed', slot: null, attempts: 2, payees: 1, amount: '150' },
    { ...headOf('payout-1', at), payees: 2, amount: '147.5' },
  ]
}

export function outgoingAnswers(
  name: string,
  at: string,
): Readonly<Record<string, (query: URLSearchParams) => unknown>> {
  const rewards = rewardsAnswer(name, at)
  const { payouts } = rewards
  const line = { role: 'partner', payee: wallet, owed: '170', rate: '19.5', opening: '3', sent: '147.5' }
  const payee = {
    id: `partner~${wallet}`,
    ...{ role: 'partner', payee: wallet, accrued: '340', due: '20', underWay: '150', paid: '150' },
    ...{ waits: 'the issuer of the token has frozen the token account', waitsUntil: at },
  }
  const payer = {
    ...payee,
    id: 'cashback~-payer',
    role: 'cashback',
    payee: '-payer',
    due: '0.2',
    waits: '',
    waitsUntil: null,
  }
  const conversion = {
    ...headOf('conversion-1', at),
    ...{ wallet, venue: name, sell: 'SOL', buy: 'USDC', amount: '2', quoted: '300', minimum: '298.5' },
    ...{ sold: '2.000005', received: '299.4' },
  }
  return {
    '/api/rewards': () => rewards,
    '/api/rewards/payouts': () => ({ token: 'NATIVE', payouts, next: null }),
    '/api/rewards/payouts/payout-1': () => ({
      ...payouts[2],
      lines: [line, { ...line, role: 'cashback', payee: '-payer', owed: '0', rate: '0', opening: '0', sent: '0' }],
    }),
    '/api/rewards/payees': (query) => ({
      token: 'NATIVE',
      payees: [payee, payer].filter(({ role }) => (query.get('role') ?? role) === role),
      next: null,
    }),
    [`/api/rewards/payees/${encodeURIComponent(payee.id)}`]: () => ({
      ...payee,
      payouts: [{ ...headOf('payout-1', at), ...line }],
    }),
    '/api/refunds': () => ({ canSend: true, refunds: [refundAnswer(name, at)] }),
    '/api/settlement': () => ({
      sponsor: {
        ...{ isOn: true, spent: '0.0210021', lost: '0.0045', underWay: '0.000010001' },
        sponsors: [{ wallet, balance: '0.018', floor: '0.02', perDay: '0.1', lostPerDay: '0.005', isOffering: false }],
      },
      isOn: true,
      paused: false,
      wallets: [
        {
          ...{ wallet, settlementToken: 'USDC', venue: name, isServed: false, slippage: '0.5' },
          tokens: [
            { token: 'SOL', balance: '1.55', kept: '0.05', threshold: '3' },
            { token: 'NATIVE', balance: null, kept: '0', threshold: null },
          ],
        },
      ],
      conversions: [
        conversion,
        { ...conversion, id: 'conversion-2', wallet: name, state: 'signed', slot: null, sold: null, received: null },
      ],
      next: null,
    }),
  }
}
