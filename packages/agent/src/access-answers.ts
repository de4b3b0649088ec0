// What the access service says, as this package reads it: the bodies of access.md, parsed at the border. Unknown members
// are ignored, so that a newer service stays readable.
import { isAddress } from 'viem'
import { z } from 'zod'

const Address = z.custom<`0x${string}`>(
  (value) => typeof value === 'string' && isAddress(value, { strict: false }),
)
const Tinybar = z
  .string()
  .regex(/^\d{1,20}$/)
  .transform(BigInt)
const UnixSeconds = z.int().min(0)

const SubscriptionBody = z
  .object({
    expiresAt: UnixSeconds,
    secondsRemaining: z.number().min(0),
    periodSeconds: z.number().min(0),
    balanceTinybar: Tinybar,
    active: z.boolean(),
    nextRenewalSchedule: Address,
  })
  .transform((body) => ({
    expiresAtSeconds: body.expiresAt,
    secondsRemaining: body.secondsRemaining,
    periodSeconds: body.periodSeconds,
    /** Refundable balance, tinybar. */
    balanceTinybar: body.balanceTinybar,
    isActive: body.active,
    nextRenewalSchedule: body.nextRenewalSchedule,
  }))

const MeteringBody = z
  .object({
    callsRemainingThisPeriod: z.int().optional(),
    recordedOnChain: z.string().optional(),
    why: z.string().optional(),
  })
  .transform((body) => ({
    callsRemaining: body.callsRemainingThisPeriod,
    /** Hash of the transaction that records this call. */
    recordedOnChain: body.recordedOnChain,
    why: body.why,
  }))

/** A 200 of the access endpoint. */
export const GrantedBody = z.object({
  access: z.literal('granted'),
  paidThisRequest: z.boolean(),
  subscription: SubscriptionBody,
  why: z.string().optional(),
  metering: MeteringBody.optional(),
  resource: z.unknown(),
})

const UsageBody = z
  .object({
    callsUsed: z.int(),
    callsAllowed: z.int(),
    callsRemaining: z.int(),
    resetsAt: UnixSeconds,
  })
  .transform(({ resetsAt, ...counts }) => ({ ...counts, resetsAtSeconds: resetsAt }))

/** A 200 of the status endpoint. */
export const StatusBody = z
  .object({
    agent: z.string(),
    contract: Address,
    hasAccess: z.boolean(),
    expiresAt: UnixSeconds,
    secondsRemaining: z.number().min(0),
    periodSeconds: z.number().min(0),
    pricePerPeriodTinybar: Tinybar,
    balanceTinybar: Tinybar,
    periodsFunded: z.int().min(0),
    active: z.boolean(),
    nextRenewalSchedule: Address,
    renewalsReserveCanArm: z.int().nullable(),
    usage: UsageBody.nullable().catch(null),
    now: UnixSeconds,
  })
  .transform(({ expiresAt, active, now, ...body }) => ({
    ...body,
    expiresAtSeconds: expiresAt,
    isActive: active,
    /** The service's time of this answer, Unix seconds. */
    nowSeconds: now,
  }))

/** The window of a subscription, as an access answer tells it. */
export type Subscription = z.infer<typeof SubscriptionBody>

/** Usage as an access answer tells it. */
export type Metering = z.infer<typeof MeteringBody>

/** Window, balance and usage of an agent, amounts in tinybar, times in Unix seconds. */
export type AccessStatus = z.infer<typeof StatusBody>

/** Any error body. */
export const ErrorBody = z.object({ error: z.string() })
