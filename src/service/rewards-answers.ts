/** What is answered of what is owed and goes out, as `/openapi.json` shows it. */
import { z } from 'zod'
import { tokenCodes } from '../core/network.ts'
import { refundReasons } from '../core/refunds.ts'
import { restRoles, rewardRoles } from '../core/rewards.ts'

const decimal = z.string().meta({ description: 'Plain decimal text.' })
const moment = z.string().meta({ description: 'RFC 3339, UTC.' })
const count = z.int().min(0)
const role = z.enum(rewardRoles)
const who = z.string().meta({ description: 'A wallet; of who gets cashback only the pseudonym.' })

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
  opening: decimal.meta({ description: 'Taken for the rent of a token account that there was not.' }),
  rate: decimal.meta({ description: 'Taken because NATIVE is worth more than when it was earned.' }),
}
const sums = { accrued: decimal, due: decimal, underWay: decimal, paid: decimal }

export const rewards = z
  .strictObject({
    token: z.literal('NATIVE'),
    isOn: z.boolean().meta({ description: 'Whether this server shares out payments.' }),
    paused: z.boolean(),
    ripening: count.meta({ description: 'Final payments that are not shared out yet.' }),
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
      .meta({ description: 'What pays, where this server does.' }),
    roles: z.array(z.strictObject({ role, payees: count, ...sums })),
    payouts: z.array(payout),
  })
  .meta({ id: 'Rewards' })

const payee = {
  id: z.string(),
  role,
  payee: who,
  ...sums,
  waits: z.string().meta({ description: 'Why nothing is paid at present; empty otherwise.' }),
  waitsUntil: moment.nullable(),
}
export const payees = z
  .strictObject({
    token: z.literal('NATIVE'),
    payees: z.array(z.strictObject(payee)),
    next: z.string().nullable(),
  })
  .meta({ id: 'Payees' })
export const payeeDetail = z
  .strictObject({ ...payee, payouts: z.array(z.strictObject({ ...head, ...line })) })
  .meta({ id: 'Payee' })
export const payoutDetail = payout.extend({ lines: z.array(z.strictObject(line)) }).meta({ id: 'PayoutDetail' })

export const refund = z
  .strictObject({
    ...head,
    payment: z.string(),
    token: z.enum(tokenCodes),
    amount: decimal,
    reason: z.enum(refundReasons),
  })
  .meta({ id: 'Refund' })
export const refunds = z
  .strictObject({
    canSend: z.boolean().meta({ description: 'Whether this server has a key that sends refunds.' }),
    refunds: z.array(refund),
  })
  .meta({ id: 'Refunds' })
