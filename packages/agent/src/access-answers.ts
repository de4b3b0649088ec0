// The access service's answers as this package reads them: the service's own schemas, with names that carry units, amounts as
// bigint, and tolerance for what a service may omit. Unknown members are ignored, so that newer services stay readable.
import { type Address, isAddress } from 'viem'
import { z } from 'zod'
import {
  accessErrorSchema,
  accessGrantedSchema,
  meteringSchema,
  signInRequiredSchema,
  statusSchema,
  subscriptionSchema,
  usageSchema,
} from './generated/access-answers.ts'

const address = z.custom<Address>(
  (value) => typeof value === 'string' && isAddress(value, { strict: false }),
)

const SubscriptionBody = subscriptionSchema
  .extend({ nextRenewalSchedule: address })
  .transform(({ active, balanceTinybar, expiresAt, ...body }) => ({
    expiresAtSeconds: expiresAt,
    ...body,
    /** Refundable balance, tinybar. */
    balanceTinybar: BigInt(balanceTinybar),
    isActive: active,
  }))

const MeteringBody = meteringSchema
  .partial()
  .transform(({ callsRemainingThisPeriod, recordedOnChain, why }) => ({
    callsRemaining: callsRemainingThisPeriod,
    /** Hash of the transaction that records this call. */
    recordedOnChain,
    why,
  }))

/** A 200 of the access endpoint; `resource` is the paid payload, whatever the service sells. */
export const GrantedBody = accessGrantedSchema
  .extend({ subscription: SubscriptionBody, metering: MeteringBody.optional() })
  .transform(({ access: _constant, ...body }) => body)

export type Granted = Readonly<z.infer<typeof GrantedBody>>

const UsageBody = usageSchema.transform(({ resetsAt, ...counts }) => ({
  ...counts,
  resetsAtSeconds: resetsAt,
}))

const EndedBody = statusSchema.shape.ended
  .unwrap()
  // It is shown on terminals.
  .extend({ sentence: z.string().regex(/^[ -~]{1,300}$/) })
  .transform(({ since, purchase, ...body }) => ({
    ...body,
    sinceSeconds: since,
    purchase: purchase && {
      amountTinybar: BigInt(purchase.amountTinybar),
      amountHbar: purchase.amountHbar,
      periods: purchase.periods,
      untilSeconds: purchase.until,
    },
  }))

/** A 200 of the status endpoint. */
export const StatusBody = statusSchema
  .omit({ unavailable: true })
  .extend({
    contract: address,
    nextRenewalSchedule: address,
    usage: UsageBody.nullable().catch(null),
    ended: EndedBody.nullable().catch(null),
  })
  .transform(({ active, balanceTinybar, expiresAt, now, pricePerPeriodTinybar, ...body }) => ({
    ...body,
    pricePerPeriodTinybar: BigInt(pricePerPeriodTinybar),
    balanceTinybar: BigInt(balanceTinybar),
    expiresAtSeconds: expiresAt,
    isActive: active,
    /** The service's time of this answer, Unix seconds. */
    nowSeconds: now,
  }))

/** The window of a subscription in an access answer. */
export type Subscription = z.infer<typeof SubscriptionBody>

/** Usage in an access answer. */
export type Metering = z.infer<typeof MeteringBody>

/** Window, balance and usage of an agent, amounts in tinybar, times in Unix seconds. */
export type AccessStatus = z.infer<typeof StatusBody>

/** The service's own names, which `toWire` restores, for members that the schemas above rename. */
const WIRE_NAMES: Readonly<Record<string, string>> = {
  expiresAtSeconds: 'expiresAt',
  nowSeconds: 'now',
  resetsAtSeconds: 'resetsAt',
  sinceSeconds: 'since',
  untilSeconds: 'until',
  endsAtSeconds: 'endsAt',
  isActive: 'active',
}

/** An outcome as JSON: the service's names if it has them, amounts as decimal strings. */
export function toWire(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(toWire)
  const entries = Object.entries(value).map(([name, part]) => [
    // In usage this is the service's own name.
    name === 'callsRemaining' && !('callsUsed' in value)
      ? 'callsRemainingThisPeriod'
      : (WIRE_NAMES[name] ?? name),
    toWire(part),
  ])
  return Object.fromEntries(entries)
}

/** The body of a 402 that asks for a proof of the agent's key. */
export const SignInBody = signInRequiredSchema.pick({
  error: true,
  accepts: true,
  extensions: true,
})

/** Any error body. */
export const ErrorBody = accessErrorSchema
