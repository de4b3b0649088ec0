/**
 * The payments under way in this process: who may join a flight, who must wait, and who is refused. What a flight does
 * is in payment-flight.ts.
 */
import type { Clock } from '../clock.ts'
import type { GuessLimit } from '../reservations/guess-limit.ts'
import { isSamePayment } from '../reservations/same-payment.ts'
import type { VerifiedPayment } from '../schemes/payment-scheme.ts'
import { createFlightControl, type FlightControl, GateClosed } from './flight-control.ts'
import type { GateLimits } from './gate-limits.ts'
import type { PaymentOutcome } from './payment-gate.ts'
import { type FlightPlan, type FlightWorld, flyPayment } from './payment-in-flight.ts'

type Outcome = PaymentOutcome<unknown, unknown>
type Ticket = Omit<FlightPlan<unknown, unknown, unknown>, 'control'> & {
  /** Left open by an earlier process: nothing else stands in its way. */
  readonly isResumed?: true
}

type Flight = {
  readonly payment: VerifiedPayment
  readonly fingerprint: string
  /** Of the request that began it. */
  readonly requestId: string | undefined
  readonly control: FlightControl
  readonly done: Promise<Outcome>
}

type Patience = { readonly clock: Clock; readonly limits: GateLimits }

/** The flights of one gate. */
export type FlightBoard = {
  /** Joins the flight of this payment or starts one, and waits as long as a request may. */
  board(ticket: Ticket): Promise<Outcome>
  isPending(subject: string): boolean
  /** What the job that began this payment's flight called its request; undefined where none is under way. */
  requestIdOf(paymentId: string): string | undefined
  close(): Promise<void>
}

const ALREADY_USED: Outcome = { kind: 'challenged', error: 'payment_already_used' }

const mayJoin = (held: Flight, { job, payment }: Ticket): boolean =>
  held.fingerprint === job.fingerprint && isSamePayment(held.payment, payment)

export function createFlightBoard(
  world: FlightWorld,
  { clock, guesses, limits }: Patience & { readonly guesses: GuessLimit },
): FlightBoard {
  const flights = new Map<string, Flight>()
  const bySubject = new Map<string, Set<Flight>>()
  const pending: Outcome = { kind: 'pending', retryAfterSeconds: limits.retryAfterSeconds }
  /** Ends the wait of each request that waits; a set, since whatever raced with one lasting promise would never be freed. */
  const waiting = new Set<() => void>()
  let closing: Promise<void> | undefined

  function takeOff(ticket: Ticket): Flight {
    const { job, payment } = ticket
    const control = createFlightControl(clock, limits)
    const flying = flyPayment(world, { ...ticket, control })
    const done = unlessClosed(flying, pending).finally(() => {
      flights.delete(payment.id)
      const siblings = bySubject.get(job.subject)
      siblings?.delete(flight)
      if (siblings?.size === 0) bySubject.delete(job.subject)
      control.claim()
    })
    const { fingerprint, requestId } = job
    const flight: Flight = { payment, fingerprint, requestId, control, done }
    flights.set(payment.id, flight)
    const siblings = bySubject.get(job.subject)
    if (siblings === undefined) bySubject.set(job.subject, new Set([flight]))
    else siblings.add(flight)
    return flight
  }

  async function closeFlights(): Promise<void> {
    const running = [...flights.values()]
    for (const flight of running) flight.control.close()
    const timeUp = Promise.withResolvers<void>()
    const cancel = clock.after(limits.closeWaitMs, timeUp.resolve)
    await Promise.race([Promise.allSettled(running.map((flight) => flight.done)), timeUp.promise])
    cancel()
    for (const dismiss of waiting) dismiss()
  }

  const patience = { clock, limits, pending, waiting }
  return {
    async board(ticket) {
      const { job, payment } = ticket
      for (let held = flights.get(payment.id); held !== undefined; held = flights.get(payment.id)) {
        if (mayJoin(held, ticket)) {
          if (job.keepsAnswer !== undefined && guesses.isSpent(payment.id)) return ALREADY_USED
          held.control.wake()
          return await waitFor(held, patience)
        }
        await held.control.claimed
        if (flights.get(payment.id) === held) {
          guesses.note(payment.id)
          return ALREADY_USED
        }
      }
      const isTwin = ticket.isResumed === undefined && hasTwin(bySubject.get(job.subject), ticket)
      if (isTwin) return pending
      if (closing !== undefined || flights.size >= limits.flightsMax) {
        return { kind: 'unavailable', dependency: 'facilitator' }
      }
      return await waitFor(takeOff(ticket), patience)
    },
    isPending: (subject) =>
      [...(bySubject.get(subject) ?? [])].some((flight) => flight.control.isPossiblySettled()),
    requestIdOf: (paymentId) => flights.get(paymentId)?.requestId,
    close() {
      closing ??= closeFlights()
      return closing
    },
  }
}

/** A flight's outcome; one that the gate's closing stopped is pending. */
async function unlessClosed(flying: Promise<Outcome>, pending: Outcome): Promise<Outcome> {
  try {
    return await flying
  } catch (error) {
    if (error instanceof GateClosed) return pending
    throw error
  }
}

/** Whether another payment of the same payer for the same thing is under way: this one is then left unsettled (X9). */
function hasTwin(flights: Iterable<Flight> | undefined, { job, payment }: Ticket): boolean {
  for (const flight of flights ?? []) {
    if (flight.fingerprint === job.fingerprint && flight.payment.payer === payment.payer) {
      return true
    }
  }
  return false
}

/** A flight's outcome, or `pending` when it takes longer than a request may wait or the gate has closed. */
async function waitFor(
  flight: Flight,
  patience: {
    readonly clock: Clock
    readonly limits: GateLimits
    readonly pending: Outcome
    readonly waiting: Set<() => void>
  },
): Promise<Outcome> {
  const { clock, limits, pending, waiting } = patience
  const timeUp = Promise.withResolvers<Outcome>()
  let isOver = false
  const dismiss = (): void => timeUp.resolve(pending)
  const cancels = [clock.after(limits.requestWaitMs, dismiss)]
  waiting.add(dismiss)
  void shorten()
  try {
    return await Promise.race([flight.done, timeUp.promise])
  } finally {
    isOver = true
    waiting.delete(dismiss)
    for (const cancel of cancels) cancel()
  }

  async function shorten(): Promise<void> {
    await flight.control.inDoubt
    // Doubt only shortens: the first limit stays as it is.
    if (!isOver) cancels.push(clock.after(limits.doubtWaitMs, dismiss))
  }
}
