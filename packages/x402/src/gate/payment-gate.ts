/**
 * The gate reads a payment header, matches and verifies it, cheap checks first, and hands it to the payments in flight.
 * payments-in-flight.ts decides which one a request joins; run-payment.ts decides what happens to each.
 */
import { type Clock, systemClock } from '../clock.ts'
import { identifierKey, readPaymentIdentifier } from '../extensions/payment-identifier.ts'
import type { Facilitator, FacilitatorRoutes } from '../facilitators/facilitator.ts'
import type { ReceiptIssuer } from '../receipts/receipt-issuer.ts'
import { createMemoryReservationStore } from '../reservations/memory-reservation-store.ts'
import type { Reservation, ReservationStore } from '../reservations/reservation-store.ts'
import { LedgerUnavailable, type PaymentScheme } from '../schemes/payment-scheme.ts'
import {
  buildChallenge,
  type Challenge,
  type ChallengeError,
  type PaymentTerms,
} from './challenge.ts'
import type { GateEvent } from './gate-event.ts'
import { DEFAULT_GATE_LIMITS, type GateLimits } from './gate-limits.ts'
import { createLedgerPoller } from './ledger-poller.ts'
import {
  type AnyOutcome,
  type JobOptions,
  type PaidJob,
  type PaymentForJob,
  type PaymentOutcome,
  type PaymentProblem,
} from './paid-job.ts'
import { createPayerLines } from './payer-lines.ts'
import {
  acceptsRequirement,
  echoesDiscovery,
  isForResource,
  type PaymentHeaders,
  readPaymentHeaders,
} from './payment-headers.ts'
import { createPaymentsInFlight } from './payments-in-flight.ts'
import { createReservations } from './reservations.ts'

/** One open reservation was resumed, and ended so. */
export type Resumed = {
  readonly reservation: Reservation
  /**
   * The outcome's kind; `pending` continues in the background. `left_open`: no job could be made for it, so it keeps its
   * payer waiting. `failed`: the store, or making or preparing its job, threw; it may still be open.
   */
  readonly end: AnyOutcome['kind'] | 'left_open' | 'failed'
  /** The error, if it failed. */
  readonly cause?: unknown
}

/** Open reservations looked up concurrently; each costs the ledger a few calls. */
const RESUMED_AT_ONCE = 16

type GateReceipts = Pick<ReceiptIssuer, 'withReceipt'> & Partial<Pick<ReceiptIssuer, 'offersFor'>>

type PaymentGateOptions = {
  readonly schemes: readonly PaymentScheme[]
  readonly facilitator: Facilitator | FacilitatorRoutes
  /** In this process's memory by default: answers end with it. */
  readonly reservations?: ReservationStore | undefined
  readonly clock?: Clock | undefined
  /** Signs receipts into paid answers and, if it has `offersFor`, offers into challenges (X18). */
  readonly receipts?: GateReceipts | undefined
  /** Called for everything the gate does, for logs and metrics. */
  readonly observe?: ((event: GateEvent) => void) | undefined
  readonly limits?: Partial<GateLimits>
}

/** Verifies, settles once and runs the job once, however often the same payment arrives. */
export type PaymentGate = ReturnType<typeof createPaymentGate>

/**
 * A gate over one facilitator and one reservation store. `pay` never throws because of anything that a client sent. It
 * throws what `prepare` threw (the payment is released), what the store threw before settlement, and for a requirement
 * whose network has no scheme. An `Answer` must survive JSON, since later identical requests get it from the store.
 */
export function createPaymentGate(options: PaymentGateOptions) {
  const { clock = systemClock, facilitator, receipts, schemes } = options
  const { reservations: store = createMemoryReservationStore({ clock }) } = options
  const limits: GateLimits = { ...DEFAULT_GATE_LIMITS, ...options.limits }
  const observe = (event: GateEvent): void => {
    const requestId = inFlight.findRequestId(event.payment.id)
    try {
      options.observe?.(requestId === undefined ? event : { ...event, requestId })
    } catch {
      // An observer that throws must not stop a settled payment.
    }
  }
  const shared = { clock, limits, observe }
  const reservations = createReservations({ ...shared, store })
  const lines = createPayerLines(clock, limits)
  const poller = createLedgerPoller(clock, limits)
  const inFlight = createPaymentsInFlight({ ...shared, facilitator, lines, poller, reservations })

  async function payAdmitted<Prepared, Answer, Declined>(
    admission: Admission,
    terms: PaymentTerms,
    job: JobOptions<Prepared, Answer, Declined>,
  ): Promise<PaymentOutcome<Answer, Declined>> {
    if (admission.kind !== 'admitted') return admission
    const { payment } = admission
    // Each payment's outcome comes from its own job, so its types are this call's.
    const outcome = (await inFlight.joinOrRun({
      ...admission,
      job: wholeJob(job, admission.scheme),
    })) as PaymentOutcome<Answer, Declined>
    if (outcome.kind !== 'paid') return outcome
    const { answer } = outcome
    const answerText = job.answersJson && typeof answer === 'string' ? answer : undefined
    const served = { payer: payment.payer, resourceUrl: terms.resource.url, answerText }
    const settlement = receipts?.withReceipt(outcome.settlement, served) ?? outcome.settlement
    const delivery = job.keepsAnswer && { delivered: () => reservations.delivered(payment) }
    return { ...outcome, settlement, ...delivery }
  }

  return {
    challenge: (terms: PaymentTerms, error: ChallengeError): Challenge =>
      buildChallenge(terms, error, receipts?.offersFor?.(terms)),
    /** Why no payment may be asked for now (X23): whoever could settle it turned the last settlements away. */
    challengeProblem: (terms: PaymentTerms): PaymentProblem | undefined =>
      challengeProblem(facilitator, terms, clock),
    /** The checks that `pay` makes first: the verified payment, or why the headers hold none. Reserves nothing. */
    admit: (headers: PaymentHeaders, terms: PaymentTerms): Promise<Admission> =>
      admit(schemes, headers, terms),
    /** Pays, as `pay` does, with what `admit` has just returned for the same terms. */
    payAdmitted,
    async pay<Prepared, Answer, Declined>(
      headers: PaymentHeaders,
      terms: PaymentTerms,
      job: JobOptions<Prepared, Answer, Declined>,
    ): Promise<PaymentOutcome<Answer, Declined>> {
      return await payAdmitted(await admit(schemes, headers, terms), terms, job)
    },
    /**
     * Resumes every reservation that a process which ended left open (X9), using the job that `makeJob` makes from its
     * `request`, at once or by a promise. One without a job stays open and keeps its payer waiting. Each payment is looked up on the ledger, never
     * settled again. Resolves once each has an outcome or continues in the background. Calls may be served meanwhile:
     * open reservations block from the moment the store is opened. Call it again and again where processes share a store:
     * what runs here, or was resumed a minute ago, is left alone. Throws what the store's `open` throws.
     */
    resumeOpen: createResume({ schemes, store, inFlight, clock }),
    /** Whether a payment for that subject may be settled but is not yet fulfilled. */
    isPending: inFlight.isPending,
    /**
     * Stops background work and waits, up to a limit, for running steps; requests that still wait then are pending. The
     * next process finds on the ledger what is unresolved. A second call waits for the first.
     */
    close: inFlight.close,
  }
}

function challengeProblem(
  facilitator: Facilitator | FacilitatorRoutes,
  { requirements }: PaymentTerms,
  clock: Clock,
): PaymentProblem | undefined {
  if (!('routesFor' in facilitator)) return undefined
  const routes = requirements.flatMap((requirement) => facilitator.routesFor(requirement))
  const untilMs = routes.map(({ turningAway }) => turningAway?.untilMs ?? 0)
  const soonestMs = Math.min(...untilMs)
  if (routes.length === 0 || soonestMs === 0) return undefined
  const retryAfterSeconds = Math.max(1, Math.ceil((soonestMs - clock.unixMs()) / 1_000))
  return { error: 'facilitator_turns_away', retryAfterSeconds }
}

/** How long a reservation that was resumed, and stayed open, is left alone, milliseconds: why it did is in the log, and will be again. */
const RESUMED_AGAIN_MS = 60_000

type Made<Prepared, Answer, Declined> = PaidJob<Prepared, Answer, Declined> | undefined

function createResume(gate: {
  readonly schemes: readonly PaymentScheme[]
  readonly store: ReservationStore
  readonly inFlight: ReturnType<typeof createPaymentsInFlight>
  readonly clock: Clock
}) {
  const { clock, inFlight, schemes, store } = gate
  /** When each that is still open was resumed last, Unix milliseconds. */
  let resumedAtMs: ReadonlyMap<string, number> = new Map()

  /** One read at a time: where rounds follow each other, a store that hangs gets no second question. */
  let isReading = false
  async function readOpen(): Promise<readonly Reservation[]> {
    if (isReading) return []
    isReading = true
    try {
      return await store.open()
    } finally {
      isReading = false
    }
  }

  /** Those that are open and whose turn it is. */
  async function chooseOpen(): Promise<readonly Reservation[]> {
    const before = inFlight.ids()
    const open = await readOpen()
    const now = inFlight.ids()
    const nowMs = clock.unixMs()
    const isDue = ({ paymentId }: Reservation): boolean =>
      // What ran a moment ago may have ended since it was read.
      !before.has(paymentId) &&
      !now.has(paymentId) &&
      nowMs >= (resumedAtMs.get(paymentId) ?? 0) + RESUMED_AGAIN_MS
    const due = open.filter(isDue)
    const stillOpen = open.flatMap(({ paymentId }) => {
      const atMs = resumedAtMs.get(paymentId)
      return atMs === undefined ? [] : [[paymentId, atMs] as const]
    })
    resumedAtMs = new Map([...stillOpen, ...due.map((each) => [each.paymentId, nowMs] as const)])
    return due
  }

  return async <Prepared, Answer, Declined>(
    makeJob: (
      reservation: Reservation,
    ) => Made<Prepared, Answer, Declined> | Promise<Made<Prepared, Answer, Declined>>,
    hear?: (resumed: Resumed) => void,
  ): Promise<void> => {
    const resume = async (reservation: Reservation): Promise<Resumed> => {
      try {
        const { payment } = reservation
        const job = await makeJob(reservation)
        if (job === undefined) return { reservation, end: 'left_open' }
        const scheme = findScheme(schemes, payment.network)
        const whole = wholeJob(job, scheme)
        const paid = { payment, scheme, job: whole, order: undefined, isResumed: true } as const
        return { reservation, end: (await inFlight.joinOrRun(paid)).kind }
      } catch (cause) {
        return { reservation, end: 'failed', cause }
      }
    }
    await resumeEach(await chooseOpen(), resume, hear)
  }
}

/** Resumes all reservations, a bounded number at a time. */
async function resumeEach(
  reservations: readonly Reservation[],
  resume: (reservation: Reservation) => Promise<Resumed>,
  hear?: (resumed: Resumed) => void,
): Promise<void> {
  const left = reservations.values()
  const resumeNext = async (): Promise<void> => {
    for (const reservation of left) {
      const resumed = await resume(reservation)
      hear?.(resumed)
    }
  }
  await Promise.all(Array.from({ length: RESUMED_AT_ONCE }, resumeNext))
}

/** A request brings this, before anything is reserved. */
export type Admission =
  | ({ readonly kind: 'admitted' } & Omit<PaymentForJob, 'job'>)
  | { readonly kind: 'challenged'; readonly error: ChallengeError }
  | { readonly kind: 'unavailable'; readonly dependency: 'ledger' }

const NOT_NAMED = { kind: 'absent' } as const

/** Reads, matches and verifies; reserves nothing yet. */
async function admit(
  schemes: readonly PaymentScheme[],
  headers: PaymentHeaders,
  terms: PaymentTerms,
): Promise<Admission> {
  const reading = readPaymentHeaders(headers)
  if (reading.kind === 'absent') return challenged('payment_required')
  if (reading.kind === 'refused') return challenged(reading.error)
  const { accepted, extensions: echo, payload, resource } = reading.envelope
  const requirement = terms.requirements.find((offered) => acceptsRequirement(accepted, offered))
  if (requirement === undefined) return challenged('payment_requirements_mismatch')
  if (!isForResource(resource, terms.resource)) return challenged('payment_resource_mismatch')
  const named = terms.takesIdentifier ? readPaymentIdentifier(echo) : NOT_NAMED
  if (named.kind === 'invalid') return challenged('payment_identifier_invalid')
  const key = named.kind === 'named' ? identifierKey(named.id, terms.resource.url) : undefined
  const scheme = findScheme(schemes, requirement.network)
  try {
    const verification = await scheme.verify(payload, requirement)
    if (verification.kind === 'refused') return challenged(verification.reason)
    const { payment } = verification
    if (verification.kind === 'expired')
      return { kind: 'admitted', scheme, payment, order: undefined, identifierKey: key }
    const { discovery, resource: sold } = terms
    const ours = { x402Version: 2, payload, accepted: requirement, resource: sold } as const
    const echoed = echoesDiscovery(echo) && discovery && { extensions: { bazaar: discovery } }
    const order = { payload: { ...ours, ...echoed }, requirement }
    return { kind: 'admitted', scheme, payment, order, identifierKey: key }
  } catch (error) {
    if (!(error instanceof LedgerUnavailable)) throw error
    return { kind: 'unavailable', dependency: 'ledger' }
  }
}

/** The scheme of a network. If one of our own networks has none, that is a bug. */
function findScheme(schemes: readonly PaymentScheme[], network: string): PaymentScheme {
  const scheme = schemes.find((candidate) => candidate.networks.includes(network))
  if (scheme === undefined) throw new Error(`no payment scheme for ${network}`)
  return scheme
}

function challenged(error: ChallengeError): Admission {
  return { kind: 'challenged', error }
}

type AnyJob = PaidJob<unknown, unknown, unknown>

/** The whole job. Each payment's outcome comes from its own job, so its types are its caller's. */
function wholeJob<Prepared, Answer, Declined>(
  options: JobOptions<Prepared, Answer, Declined>,
  scheme: PaymentScheme,
): AnyJob {
  return {
    subject: options.fingerprint,
    prepare: async () => ({ kind: 'ready', prepared: undefined }),
    mayHonour: async () => scheme.isUsed !== undefined,
    ...(options as Partial<AnyJob>),
  } as AnyJob
}
