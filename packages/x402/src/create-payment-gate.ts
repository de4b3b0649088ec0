/**
 * The gate: reads a payment header, matches it, verifies it and hands it to the board of flights, cheap checks first.
 * Who may join a payment under way is in flight-board.ts, what happens to it in payment-flight.ts.
 */
import { buildChallenge } from './challenge.ts'
import type { Clock } from './clock.ts'
import type { Facilitator, PaymentPayload } from './facilitator.ts'
import { createFlightBoard } from './flight-board.ts'
import type { GateEvent } from './gate-event.ts'
import { DEFAULT_GATE_LIMITS, type GateLimits } from './gate-limits.ts'
import { isForResource, matchRequirement } from './match-requirement.ts'
import type {
  PaidJob,
  PaymentGate,
  PaymentHeaders,
  PaymentOutcome,
  PaymentTerms,
} from './payment-gate.ts'
import type { PaymentRequirement } from './payment-requirement.ts'
import { LedgerUnavailable, type PaymentScheme, type VerifiedPayment } from './payment-scheme.ts'
import { readPaymentHeaders } from './read-payment-headers.ts'
import type { ReservationStore } from './reservation-store.ts'

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
  | { readonly kind: 'ended'; readonly outcome: PaymentOutcome<never, never> }
  | {
      readonly kind: 'admitted'
      readonly scheme: PaymentScheme
      readonly requirement: PaymentRequirement
      readonly payment: VerifiedPayment
      readonly payload: PaymentPayload | undefined
    }

/**
 * A gate over one facilitator and one reservation store. `pay` never throws for anything that a client sent; it throws
 * what `prepare` threw (the payment is released), what the store threw before settlement, and for a requirement whose
 * network no scheme serves. An `Answer` must survive JSON, since later identical requests get it from the store.
 */
export function createPaymentGate(options: PaymentGateOptions): PaymentGate {
  const { clock, facilitator, observe, reservations, schemes } = options
  const limits: GateLimits = { ...DEFAULT_GATE_LIMITS, ...options.limits }
  const world = {
    facilitator,
    reservations,
    unixMs: () => clock.unixMs(),
    observe: observe ?? (() => undefined),
  }
  const flights = createFlightBoard(world, { clock, limits })
  return {
    challenge: buildChallenge,
    async pay<Prepared, Answer, Declined>(
      headers: PaymentHeaders,
      terms: PaymentTerms,
      job: PaidJob<Prepared, Answer, Declined>,
    ) {
      const admission = await admit(schemes, headers, terms)
      if (admission.kind === 'ended') return admission.outcome
      // The board holds flights of many jobs; each one's outcome comes from its own job, so its types are this call's.
      const anyJob = job as PaidJob<unknown, unknown, unknown>
      const outcome = await flights.board({ ...admission, job: anyJob })
      return outcome as PaymentOutcome<Answer, Declined>
    },
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
  const { accepted, payload, resource } = reading.envelope
  const requirement = matchRequirement(accepted, terms.requirements)
  if (requirement === undefined) return challenged('payment_requirements_mismatch')
  if (!isForResource(resource, terms.resource)) return challenged('payment_resource_mismatch')
  const scheme = schemes.find((one) => one.networks.includes(requirement.network))
  if (scheme === undefined) throw new Error(`no payment scheme for ${requirement.network}`)
  try {
    const verification = await scheme.verify(payload, requirement)
    if (verification.kind === 'refused') return challenged(verification.reason)
    const { payment } = verification
    const { resource: onSale } = terms
    const ours: PaymentPayload = {
      x402Version: 2,
      payload,
      accepted: requirement,
      resource: onSale,
    }
    const isLive = verification.kind === 'valid'
    return { kind: 'admitted', scheme, requirement, payment, payload: isLive ? ours : undefined }
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
    return { kind: 'ended', outcome: { kind: 'unavailable', dependency: 'ledger' } }
  }
}

function challenged(error: string): Admission {
  return { kind: 'ended', outcome: { kind: 'challenged', error } }
}
