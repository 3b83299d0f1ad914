/** Schemas of the responses about payables and outgoing transactions, from which `/openapi.json` is made. */
import { z } from 'zod'
import { refundReasons } from '../../core/payouts/refunds.ts'
import { restRoles, rewardRoles } from '../../core/payouts/rewards.ts'
import { token } from '../http/answers.ts'

const decimal = z.string().meta({ description: 'Plain decimal text.' })
const moment = z.string().meta({ description: 'RFC 3339, UTC.' })
const count = z.int().min(0)
const role = z.enum(rewardRoles)
const who = z.string().meta({ description: 'A wallet or, for cashback, a pseudonym.' })

const head = {
  id: z.string().meta({ description: 'Also in the memo of its transaction, after `paystile:`.' }),
  state: z.enum(['planned', 'signed', 'landed', 'dropped']),
  at: moment,
  changedAt: moment,
  attempts: count,
  tx: z.string().nullable(),
  slot: count.nullable(),
  why: z.string(),
}
const payout = z.strictObject({ ...head, payees: count, amount: decimal }).meta({ id: 'Payout' })
const line = {
  role,
  payee: who,
  owed: decimal,
  sent: decimal,
  opening: decimal.meta({ description: 'Deducted for the rent of a new token account.' }),
  rate: decimal.meta({ description: 'Deducted because the rate of NATIVE has risen since it was earned.' }),
}
const sums = { accrued: decimal, due: decimal, underWay: decimal, paid: decimal }

const payee = {
  id: z.string(),
  role,
  payee: who,
  ...sums,
  waits: z.string().meta({ description: 'Reason why payouts wait; empty otherwise.' }),
  waitsUntil: moment.nullable(),
}
export const payees = z
  .strictObject({ token: z.literal('NATIVE'), payees: z.array(z.strictObject(payee)), next: z.string().nullable() })
  .meta({ id: 'Payees' })
export const payeeDetail = z
  .strictObject({ ...payee, payouts: z.array(z.strictObject({ ...head, ...line })) })
  .meta({ id: 'Payee' })
export const payouts = z
  .strictObject({ token: z.literal('NATIVE'), payouts: z.array(payout), next: z.string().nullable() })
  .meta({ id: 'Payouts' })
export const rewards = z
  .strictObject({
    token: z.literal('NATIVE'),
    isOn: z.boolean().meta({ description: 'Whether this server accrues rewards.' }),
    paused: z.boolean(),
    ripening: count.meta({ description: 'Final payments that have not been accrued yet.' }),
    threshold: decimal.nullable(),
    rules: z
      .strictObject({
        partners: z.array(
          z.strictObject({ name: z.string(), wallet: z.string(), share: decimal, endpoints: z.array(z.string()) }),
        ),
        developers: decimal,
        cashback: z.array(z.strictObject({ from: decimal, share: decimal })),
        rest: z.array(z.strictObject({ role: z.enum(restRoles), wallet: z.string(), weight: count })),
        withoutPartner: z.boolean(),
      })
      .nullable(),
    wallet: z
      .strictObject({ address: z.string(), native: decimal, sol: decimal })
      .nullable()
      .meta({ description: 'The paying wallet, if this server pays.' }),
    roles: z.array(z.strictObject({ role, payees: count, ...sums })),
    payouts: z.array(payout),
    first: z
      .strictObject({ payees, payouts })
      .optional()
      .meta({ description: 'The first pages of `/api/rewards/payees` and `/api/rewards/payouts`.' }),
  })
  .meta({ id: 'Rewards' })
export const payoutDetail = payout.extend({ lines: z.array(z.strictObject(line)) }).meta({ id: 'PayoutDetail' })

const sentBack = { token: token, amount: decimal, reason: z.enum(refundReasons) }
export const refund = z.strictObject({ ...head, payment: z.string(), ...sentBack }).meta({ id: 'Refund' })
/** Shown beside a payment that needs attention. */
export const refundable = z.strictObject(sentBack)
export const refunds = z
  .strictObject({
    canSend: z.boolean().meta({ description: 'Whether this server has a key that sends refunds.' }),
    refunds: z.array(refund),
  })
  .meta({ id: 'Refunds' })

const optional = decimal.nullable().meta({ description: 'Null if unknown.' })
const conversion = z
  .strictObject({
    ...head,
    wallet: z.string(),
    venue: z.string(),
    sell: token,
    buy: token,
    amount: decimal.meta({ description: 'Amount to sell.' }),
    quoted: decimal,
    minimum: decimal.meta({ description: 'Minimum proceeds: below this, the transaction fails.' }),
    sold: optional.meta({ description: 'Amount that left the wallet, read from the chain.' }),
    received: optional.meta({ description: 'Received amount, read from the chain.' }),
  })
  .meta({ id: 'Conversion' })
export const sponsor = z
  .strictObject({
    isOn: z.boolean().meta({ description: 'Whether this server pays network fees for others.' }),
    spent: decimal.meta({ description: 'Fees of payments that landed within 24 hours, in SOL, of all servers.' }),
    lost: decimal.meta({ description: 'Fees of transactions that failed within 24 hours, in SOL, of all servers.' }),
    underWay: decimal.meta({ description: 'Fees of transactions without an outcome, in SOL.' }),
    sponsors: z.array(
      z.strictObject({
        wallet: z.string(),
        balance: optional.meta({ description: 'In SOL. Null before a node has answered.' }),
        floor: decimal.meta({ description: 'The balance below which it pays nothing.' }),
        perDay: decimal.meta({ description: 'The limit of `spent`.' }),
        lostPerDay: decimal.meta({ description: 'The limit of `lost`.' }),
        isOffering: z.boolean().meta({ description: 'Whether it pays fees now.' }),
      }),
    ),
  })
  .meta({ id: 'Sponsor' })

export const settlement = z
  .strictObject({
    isOn: z.boolean().meta({ description: 'Whether this service converts payments.' }),
    sponsor: sponsor.optional().meta({ description: 'As `/api/sponsor`.' }),
    paused: z.boolean(),
    wallets: z.array(
      z.strictObject({
        wallet: z.string(),
        settlementToken: token,
        venue: z.string().nullable(),
        isServed: z.boolean().meta({ description: 'Whether a process converts: this server or a running worker.' }),
        slippage: decimal.meta({ description: 'Maximum slippage, in percent.' }),
        tokens: z.array(
          z.strictObject({
            token: token,
            balance: optional,
            kept: decimal.meta({ description: 'Amount that stays in the wallet.' }),
            threshold: optional.meta({
              description: 'Threshold for a conversion, in addition to the retained amount.',
            }),
          }),
        ),
      }),
    ),
    conversions: z.array(conversion),
    next: z.string().nullable(),
  })
  .meta({ id: 'Settlement' })
