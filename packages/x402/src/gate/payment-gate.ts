/**
 * The gate: reads a payment header, matches it, verifies it and hands it to the payments in flight, cheap checks first.
 * Which of them a request joins is in payments-in-flight.ts, what happens to one in payment-in-flight.ts.
 */
import type { Clock } from '../clock.ts'
import type { Facilitator } from '../facilitators/facilitator.ts'
import type { Reservation, ReservationStore } from '../reservations/reservation-store.ts'
import { createReservations } from '../reservations/reservations.ts'
import { createGuessLimit } from '../reservations/same-purchase.ts'
import { LedgerUnavailable, type PaymentScheme } from '../schemes/payment-scheme.ts'
import {
  buildChallenge,
  type Challenge,
  type ChallengeError,
  type PaymentTerms,
} from './challenge.ts'
import type { GateEvent } from './gate-event.ts'
import { DEFAULT_GATE_LIMITS, type GateLimits } from './gate-limits.ts'
import type { AnyOutcome, AnyPaidJob, PaidJob, PaymentForJob, PaymentOutcome } from './paid-job.ts'
import {
  acceptsRequirement,
  isForResource,
  type PaymentHeaders,
  readPaymentHeaders,
} from './payment-headers.ts'
import { createPaymentsInFlight } from './payments-in-flight.ts'
import { echoedExtensions } from './resource-discovery.ts'

export type PaymentGateOptions = {
  readonly schemes: readonly PaymentScheme[]
  readonly facilitator: Facilitator
  readonly reservations: ReservationStore
  readonly clock: Clock
  /** Called with everything the gate does, for logs and metrics. */
  readonly observe?: ((event: GateEvent) => void) | undefined
  readonly limits?: Partial<GateLimits>
}

/** Verifies, settles once and runs the job once, however often the same payment comes. */
export type PaymentGate = {
  challenge(terms: PaymentTerms, error: ChallengeError): Challenge
  /** Why these headers hold no payment for those terms, by the checks that `pay` makes first; undefined where they may. */
  refusalOf(headers: PaymentHeaders, terms: PaymentTerms): Promise<ChallengeError | undefined>
  pay<Prepared, Answer, Declined, Keeps extends true | undefined = undefined>(
    headers: PaymentHeaders,
    terms: PaymentTerms,
    job: PaidJob<Prepared, Answer, Declined, Keeps>,
  ): Promise<PaymentOutcome<Answer, Declined, Keeps>>
  /** Whether a payment for that subject may have been settled and is not yet fulfilled. */
  isPending(subject: string): boolean
  /**
   * Stops background work and waits for steps that run, within a limit; requests that still wait then are pending. What
   * is unresolved is found again on the ledger by the next process. A second call waits for the first.
   */
  close(): Promise<void>
}

/** A gate that can also take up what an earlier process left open in a store that outlives it. */
export type ResumingPaymentGate = PaymentGate & {
  /**
   * Resumes every open reservation (X9), each with the job that `jobOf` makes again from its `request`; one without a
   * job stays open and keeps its payer waiting. Each payment is looked up on the ledger, never settled anew. Resolves
   * when each has an outcome or goes on in the background; calls may be served meanwhile, since what is open blocks from
   * the moment the store is. Throws what the store's `open` throws.
   */
  resumeOpen<Prepared, Answer, Declined>(
    jobOf: (reservation: Reservation) => AnyPaidJob<Prepared, Answer, Declined> | undefined,
    hear?: (resumed: Resumed) => void,
  ): Promise<void>
}

/** What became of one open reservation. */
export type Resumed = {
  readonly reservation: Reservation
  /**
   * The outcome's kind, where `pending` goes on in the background; `left_open`: there was no job for it, and it keeps
   * its payer waiting; `failed`: the store, or making or preparing its job, threw; it may be open still.
   */
  readonly end: AnyOutcome['kind'] | 'left_open' | 'failed'
  /** The error, where it failed. */
  readonly cause?: unknown
}

/** Open reservations looked up side by side: each is a few questions to the ledger. */
const RESUMED_AT_ONCE = 16

/**
 * A gate over one facilitator and one reservation store. `pay` never throws for anything that a client sent; it throws
 * what `prepare` threw (the payment is released), what the store threw before settlement, and for a requirement whose
 * network no scheme serves. An `Answer` must survive JSON, since later identical requests get it from the store.
 */
export function createPaymentGate(options: PaymentGateOptions): ResumingPaymentGate {
  const { clock, facilitator, reservations: store, schemes } = options
  const limits: GateLimits = { ...DEFAULT_GATE_LIMITS, ...options.limits }
  const { retryAfterSeconds } = limits
  const unixMs = (): number => clock.unixMs()
  const observe = (event: GateEvent): void => {
    const requestId = inFlight.requestIdOf(event.payment.id)
    try {
      options.observe?.(requestId === undefined ? event : { ...event, requestId })
    } catch {
      // An observer that throws must not stop a settled payment.
    }
  }
  const guesses = createGuessLimit()
  const reservations = createReservations({ guesses, observe, retryAfterSeconds, store, unixMs })
  const parts = { clock, facilitator, observe, reservations }
  const inFlight = createPaymentsInFlight(parts, { guesses, limits })

  async function resume(reservation: Reservation, job: PaymentForJob['job']): Promise<AnyOutcome> {
    const { payment } = reservation
    const scheme = schemeOf(schemes, payment.network)
    return await inFlight.joinOrRun({ payment, scheme, job, order: undefined }, { isResumed: true })
  }

  return {
    challenge: buildChallenge,
    async refusalOf(headers, terms) {
      const admission = await admit(schemes, headers, terms)
      return admission.kind === 'challenged' ? admission.error : undefined
    },
    async pay<Prepared, Answer, Declined, Keeps extends true | undefined>(
      headers: PaymentHeaders,
      terms: PaymentTerms,
      job: PaidJob<Prepared, Answer, Declined, Keeps>,
    ) {
      // Payments of many jobs are in flight together; each one's outcome comes from its own job, so its types are the call's.
      type Outcome = PaymentOutcome<Answer, Declined, Keeps>
      const admission = await admit(schemes, headers, terms)
      if (admission.kind !== 'admitted') return admission
      const { payment } = admission
      const outcome = await inFlight.joinOrRun({ ...admission, job })
      if (outcome.kind !== 'paid' || job.keepsAnswer === undefined) return outcome as Outcome
      return { ...outcome, delivered: () => reservations.delivered(payment) } as Outcome
    },
    async resumeOpen(jobOf, hear) {
      const left = (await store.open()).values()
      const resumeNext = async (): Promise<void> => {
        for (const reservation of left) {
          const resumed = await resumeOne(reservation, async () => {
            const job = jobOf(reservation)
            return job && (await resume(reservation, job))
          })
          hear?.(resumed)
        }
      }
      await Promise.all(Array.from({ length: RESUMED_AT_ONCE }, resumeNext))
    },
    isPending: (subject) => inFlight.isPending(subject),
    close: () => inFlight.close(),
  }
}

async function resumeOne(
  reservation: Reservation,
  run: () => Promise<AnyOutcome | undefined>,
): Promise<Resumed> {
  try {
    const outcome = await run()
    return { reservation, end: outcome?.kind ?? 'left_open' }
  } catch (cause) {
    return { reservation, end: 'failed', cause }
  }
}

type Admission =
  | ({ readonly kind: 'admitted' } & Omit<PaymentForJob, 'job'>)
  | { readonly kind: 'challenged'; readonly error: ChallengeError }
  | { readonly kind: 'unavailable'; readonly dependency: 'ledger' }

/** Reads, matches and verifies; nothing is reserved yet. */
async function admit(
  schemes: readonly PaymentScheme[],
  headers: PaymentHeaders,
  terms: PaymentTerms,
): Promise<Admission> {
  const reading = readPaymentHeaders(headers)
  if (reading.kind === 'absent') return challenged('payment_required')
  if (reading.kind === 'refused') return challenged(reading.error)
  const { accepted, extensions: echo, payload, resource } = reading.envelope
  const requirement = terms.requirements.find((one) => acceptsRequirement(accepted, one))
  if (requirement === undefined) return challenged('payment_requirements_mismatch')
  if (!isForResource(resource, terms.resource)) return challenged('payment_resource_mismatch')
  const scheme = schemeOf(schemes, requirement.network)
  try {
    const verification = await scheme.verify(payload, requirement)
    if (verification.kind === 'refused') return challenged(verification.reason)
    const { payment } = verification
    if (verification.kind === 'expired')
      return { kind: 'admitted', scheme, payment, order: undefined }
    const extensions = echoedExtensions(echo, terms.discovery)
    const ours = { payload, accepted: requirement, resource: terms.resource, ...extensions }
    const order = { payload: { x402Version: 2, ...ours } as const, requirement }
    return { kind: 'admitted', scheme, payment, order }
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
    return { kind: 'unavailable', dependency: 'ledger' }
  }
}

/** The scheme of a network; a network of ours without one is our own mistake. */
function schemeOf(schemes: readonly PaymentScheme[], network: string): PaymentScheme {
  const scheme = schemes.find((one) => one.networks.includes(network))
  if (scheme === undefined) throw new Error(`no payment scheme for ${network}`)
  return scheme
}

function challenged(error: ChallengeError): Admission {
  return { kind: 'challenged', error }
}
