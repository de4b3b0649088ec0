/**
 * The gate: reads a payment header, matches it, verifies it and hands it to the board of flights, cheap checks first.
 * Who may join a payment under way is in flight-board.ts, what happens to it in payment-flight.ts.
 */

import type { Clock } from '../clock.ts'
import type { Facilitator, PaymentPayload } from '../facilitators/facilitator.ts'
import { createGuessLimit } from '../reservations/guess-limit.ts'
import type { Reservation, ReservationStore } from '../reservations/reservation-store.ts'
import { createReservationDesk } from '../reservations/reserve-payment.ts'
import {
  LedgerUnavailable,
  type PaymentScheme,
  type VerifiedPayment,
} from '../schemes/payment-scheme.ts'
import { buildChallenge } from './challenge.ts'
import type { GateEvent, GateHappening } from './gate-event.ts'
import { DEFAULT_GATE_LIMITS, type GateLimits } from './gate-limits.ts'
import { isForResource, matchRequirement } from './match-requirement.ts'
import type {
  AnyPaidJob,
  PaidJob,
  PaidJobOutcome,
  PaymentGate,
  PaymentHeaders,
  PaymentOutcome,
  PaymentTerms,
} from './payment-gate.ts'
import { readPaymentHeaders } from './payment-headers.ts'
import type { SettlementOrder } from './payment-in-flight.ts'
import { createFlightBoard } from './payments-in-flight.ts'
import { echoedExtensions } from './resource-discovery.ts'
import { type Resumed, resumeOpen } from './resume-open.ts'

export type PaymentGateOptions = {
  readonly schemes: readonly PaymentScheme[]
  readonly facilitator: Facilitator
  readonly reservations: ReservationStore
  readonly clock: Clock
  /** Hears what the gate does, for logs and metrics. */
  readonly observe?: (event: GateEvent) => void
  readonly limits?: Partial<GateLimits>
}

type Admission =
  | { readonly kind: 'ended'; readonly outcome: PaidJobOutcome<never, never> }
  | {
      readonly kind: 'admitted'
      readonly scheme: PaymentScheme
      readonly payment: VerifiedPayment
      readonly order: SettlementOrder | undefined
    }

/** A gate that can also take up what an earlier process left open in a store that outlives it. */
export type ResumingPaymentGate = PaymentGate & {
  /**
   * Completes a reservation of an earlier process (X9), from `reservations.open()` at start: its payment is looked up on
   * the ledger, never settled anew. The outcome is that of `pay`, and takes as long as the ledger takes to know.
   */
  resume<Prepared, Answer, Declined>(
    reservation: Reservation,
    job: AnyPaidJob<Prepared, Answer, Declined>,
  ): Promise<PaymentOutcome<Answer, Declined>>
  /**
   * Resumes all that is open, each with the job that `jobOf` makes again from its `request`; one without a job stays
   * open and keeps its payer waiting. Resolves when each has an outcome or goes on in the background; calls may be
   * served meanwhile, since what is open blocks from the moment the store is. Throws what the store's `open` throws.
   */
  resumeOpen<Prepared, Answer, Declined>(
    jobOf: (reservation: Reservation) => AnyPaidJob<Prepared, Answer, Declined> | undefined,
    hear?: (resumed: Resumed) => void,
  ): Promise<void>
}

type Ticket = Omit<Extract<Admission, { kind: 'admitted' }>, 'kind'> & { readonly isResumed?: true }

/**
 * A gate over one facilitator and one reservation store. `pay` never throws for anything that a client sent; it throws
 * what `prepare` threw (the payment is released), what the store threw before settlement, and for a requirement whose
 * network no scheme serves. An `Answer` must survive JSON, since later identical requests get it from the store.
 */
export function createPaymentGate(options: PaymentGateOptions): ResumingPaymentGate {
  const { clock, facilitator, reservations, schemes } = options
  const limits: GateLimits = { ...DEFAULT_GATE_LIMITS, ...options.limits }
  const { retryAfterSeconds } = limits
  const unixMs = (): number => clock.unixMs()
  const told = unharmed(options.observe)
  const observe = (event: GateHappening): void => {
    const requestId = flights.requestIdOf(event.payment.id)
    told(requestId === undefined ? event : { ...event, requestId })
  }
  const guesses = createGuessLimit()
  const books = { guesses, reservations, unixMs, observe, retryAfterSeconds }
  const desk = createReservationDesk(books)
  const world = { facilitator, desk, unixMs, observe }
  const flights = createFlightBoard(world, { clock, guesses, limits })
  // The board holds flights of many jobs; each one's outcome comes from its own job, so its types are the call's.
  const board = async <Prepared, Answer, Declined>(
    ticket: Ticket,
    job: AnyPaidJob<Prepared, Answer, Declined>,
  ): Promise<PaymentOutcome<Answer, Declined>> => {
    const anyJob = job as AnyPaidJob<unknown, unknown, unknown>
    const outcome = await flights.board({ ...ticket, job: anyJob })
    return outcome as PaymentOutcome<Answer, Declined>
  }

  function pay<Prepared, Answer, Declined>(
    headers: PaymentHeaders,
    terms: PaymentTerms,
    job: PaidJob<Prepared, Answer, Declined>,
  ): Promise<PaidJobOutcome<Answer, Declined>>
  function pay<Prepared, Answer, Declined>(
    headers: PaymentHeaders,
    terms: PaymentTerms,
    job: AnyPaidJob<Prepared, Answer, Declined>,
  ): Promise<PaymentOutcome<Answer, Declined>>
  async function pay<Prepared, Answer, Declined>(
    headers: PaymentHeaders,
    terms: PaymentTerms,
    job: AnyPaidJob<Prepared, Answer, Declined>,
  ): Promise<PaymentOutcome<Answer, Declined>> {
    const admission = await admit(schemes, headers, terms)
    if (admission.kind === 'ended') return admission.outcome
    const outcome = await board(admission, job)
    if (outcome.kind !== 'paid' || job.keepsAnswer === undefined) return outcome
    return { ...outcome, delivered: () => desk.delivered(admission.payment) }
  }

  const resume = async <Prepared, Answer, Declined>(
    reservation: Reservation,
    job: AnyPaidJob<Prepared, Answer, Declined>,
  ): Promise<PaymentOutcome<Answer, Declined>> => {
    const { payment } = reservation
    const scheme = schemeOf(schemes, payment.network)
    return await board({ scheme, payment, order: undefined, isResumed: true }, job)
  }

  return {
    challenge: buildChallenge,
    async refusalOf(headers, terms) {
      const admission = await admit(schemes, headers, terms)
      const isRefused = admission.kind === 'ended' && admission.outcome.kind === 'challenged'
      return isRefused ? admission.outcome.error : undefined
    },
    pay,
    resume,
    resumeOpen: (jobOf, hear = () => undefined) =>
      resumeOpen({ reservations, resume }, jobOf, hear),
    isPending: (subject) => flights.isPending(subject),
    close: () => flights.close(),
  }
}

/** Reads, matches and verifies; nothing is reserved yet. */
async function admit(
  schemes: readonly PaymentScheme[],
  headers: PaymentHeaders,
  terms: PaymentTerms,
): Promise<Admission> {
  const reading = readPaymentHeaders(headers)
  if (reading.kind === 'absent') return challenged('payment_required')
  if (reading.kind === 'refused') return challenged(reading.error)
  const { accepted, extensions, payload, resource } = reading.envelope
  const requirement = matchRequirement(accepted, terms.requirements)
  if (requirement === undefined) return challenged('payment_requirements_mismatch')
  if (!isForResource(resource, terms.resource)) return challenged('payment_resource_mismatch')
  const scheme = schemeOf(schemes, requirement.network)
  try {
    const verification = await scheme.verify(payload, requirement)
    if (verification.kind === 'refused') return challenged(verification.reason)
    const { payment } = verification
    if (verification.kind === 'expired')
      return { kind: 'admitted', scheme, payment, order: undefined }
    const ours: PaymentPayload = {
      x402Version: 2,
      payload,
      accepted: requirement,
      resource: terms.resource,
      ...echoedExtensions(extensions, terms.discovery),
    }
    return { kind: 'admitted', scheme, payment, order: { payload: ours, requirement } }
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
    return { kind: 'ended', outcome: { kind: 'unavailable', dependency: 'ledger' } }
  }
}

/** The scheme of a network; a network of ours without one is a mistake of ours. */
function schemeOf(schemes: readonly PaymentScheme[], network: string): PaymentScheme {
  const scheme = schemes.find((one) => one.networks.includes(network))
  if (scheme === undefined) throw new Error(`no payment scheme for ${network}`)
  return scheme
}

/** An observer that may fail: what listens must not be able to stop a settled payment. */
function unharmed(observe: PaymentGateOptions['observe']): (event: GateEvent) => void {
  return (event) => {
    try {
      observe?.(event)
    } catch {
      // The gate has nobody to tell: the observer is the one who is told.
    }
  }
}

function challenged(error: string): Admission {
  return { kind: 'ended', outcome: { kind: 'challenged', error } }
}
