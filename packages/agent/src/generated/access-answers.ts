// Generated from services/access/src/wire/access-answers.ts: edit that, then run npm run generate.
/**
 * The bodies that `/access` and `/status` answer with. OpenAPI, the domain and the agent's package derive theirs from
 * these. Amounts are tinybar in strings, times Unix seconds.
 */
import { z } from 'zod'

const unixSeconds = z.int().describe('Unix seconds.')
const tinybar = z.string().regex(/^\d+$/)
const scheduleAddress = z
  .string()
  .describe(
    'Address of the pending scheduled call of the agent’s slot; the zero address: no renewal is armed.',
  )

export const subscriptionSchema = z
  .object({
    expiresAt: unixSeconds.describe('Unix seconds at which the window closes.'),
    secondsRemaining: z
      .int()
      .min(0)
      .describe('Of a first window up to slotSeconds - 1 more than periodSeconds.'),
    periodSeconds: z.int().describe('Length of one funded period.'),
    balanceTinybar: tinybar.describe('Refundable balance; 1 HBAR = 1e8 tinybar.'),
    active: z.boolean().describe('The window is open and not cancelled.'),
    nextRenewalSchedule: scheduleAddress,
  })
  .meta({ id: 'Subscription' })

export const meteringSchema = z.object({
  callsRemainingThisPeriod: z.int(),
  recordedOnChain: z
    .string()
    .describe('Hash of the transaction that records this call, or recorded it in advance.'),
  why: z.string(),
})

export const accessGrantedSchema = z
  .object({
    access: z.literal('granted'),
    paidThisRequest: z.boolean().describe('False whenever the open window served the call.'),
    subscription: subscriptionSchema,
    why: z.string().optional().describe('Plain-language reason the call was served.'),
    metering: meteringSchema
      .optional()
      .describe('Usage is counted on chain; a renewal refills it.'),
    resource: z.unknown().describe('What was paid for.'),
  })
  .meta({ id: 'AccessGranted', description: 'The call is served.' })

export const usageSchema = z.object({
  callsUsed: z.int().describe('Calls counted on the contract, some of them in advance.'),
  callsAllowed: z.int(),
  callsRemaining: z.int(),
  resetsAt: unixSeconds.describe('When this quota ends; 0 without an open window.'),
})

const endedSchema = z
  .object({
    why: z
      .enum(['spent', 'cancelled', 'paused'])
      .describe(
        'spent: the balance pays for no period. cancelled: by the agent. paused: the quota is used up, or money waits.',
      ),
    since: unixSeconds
      .nullable()
      .describe(
        'When the last paid window closed, Unix seconds; null for a quota that is used up.',
      ),
    sentence: z.string().describe('The same for people, times in UTC.'),
    purchase: z
      .object({
        amountTinybar: tinybar,
        amountHbar: z.string(),
        periods: z.int(),
        until: unixSeconds.describe('Unix seconds; at least so long, if it is paid now.'),
      })
      .nullable()
      .describe('What one payment costs and buys; null if none is taken.'),
  })
  .meta({ id: 'Ended', description: 'Why calls are not served any more.' })

export const statusSchema = z
  .object({
    agent: z.string(),
    contract: z.string().describe('The access contract that the answer was read from.'),
    hasAccess: z.boolean(),
    expiresAt: unixSeconds,
    secondsRemaining: z.int().min(0),
    periodSeconds: z.int(),
    pricePerPeriodTinybar: tinybar,
    balanceTinybar: tinybar,
    periodsFunded: z.int().describe('Further renewals that the balance pays for.'),
    active: z.boolean(),
    nextRenewalSchedule: scheduleAddress,
    renewalsReserveCanArm: z
      .int()
      .nullable()
      .describe('Further renewals that the seller’s gas reserve can arm, each for a whole slot.'),
    usage: usageSchema.nullable().describe('Metered usage of this period, as the contract has it.'),
    ended: endedSchema
      .nullable()
      .describe('Null while calls are served, and for who never had a window.'),
    unavailable: z
      .array(z.string())
      .describe('Names of the fields that are null because a read did not answer.'),
    now: unixSeconds.describe('Server time.'),
  })
  .meta({ id: 'Status', description: 'The subscription as it stands now.' })

export const paymentRequiredSchema = z
  .object({
    x402Version: z.int(),
    error: z.string(),
    notice: z
      .string()
      .optional()
      .describe('Why nobody should buy for this `agent`, and the right address if there is one.'),
    ended: endedSchema.optional().describe('Why the window that this `agent` had has ended.'),
    omitted: z
      .array(z.string())
      .optional()
      .describe(
        'Extensions that were left out, since the answer’s head would be too long with them.',
      ),
    resource: z.object({ url: z.string(), description: z.string(), mimeType: z.string() }),
    accepts: z.array(
      z.object({
        scheme: z.literal('exact'),
        network: z.string(),
        amount: z.string(),
        asset: z.string(),
        payTo: z.string(),
        maxTimeoutSeconds: z.int(),
        extra: z.record(z.string(), z.unknown()),
        price: z.object({
          asset: z.string().describe('0.0.0 is HBAR.'),
          amount: z.string().describe('Tinybar for the whole purchase.'),
        }),
      }),
    ),
    extensions: z
      .object({ bazaar: z.looseObject({ info: z.unknown(), schema: z.unknown() }) })
      .describe('How the resource is called, by example and by schema: x402’s discovery.'),
  })
  .meta({
    id: 'PaymentRequired',
    description:
      'No open subscription and no valid payment: the challenge, also base64 in PAYMENT-REQUIRED.',
  })

export const signInRequiredSchema = z
  .object({
    x402Version: z.int(),
    error: z.string(),
    resource: z.object({ url: z.string(), description: z.string(), mimeType: z.string() }),
    accepts: z.array(z.unknown()).max(0).describe('Empty: nothing can be paid.'),
    extensions: z.object({
      'sign-in-with-x': z.object({
        info: z.object({
          domain: z.string(),
          uri: z.string(),
          version: z.string(),
          nonce: z.string(),
          issuedAt: z.string(),
          expirationTime: z.string(),
          statement: z.string(),
        }),
        supportedChains: z.array(
          z.object({
            chainId: z.string().describe('eip155:296 is Hedera testnet, eip155:295 its mainnet.'),
            type: z.literal('eip191'),
          }),
        ),
      }),
    }),
  })
  .meta({
    id: 'SignInRequired',
    description:
      'The agent is guarded and its window open: sign the text of x402’s sign-in-with-x and send it in SIGN-IN-WITH-X.',
  })

export const accessErrorSchema = z.looseObject({
  error: z.string().describe('Stable snake_case code.'),
})

export type Subscription = z.infer<typeof subscriptionSchema>
export type AccessGranted = z.infer<typeof accessGrantedSchema>
export type Ended = z.infer<typeof endedSchema>
export type Usage = z.infer<typeof usageSchema>
export type Status = z.infer<typeof statusSchema>
