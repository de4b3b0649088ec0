/**
 * The payments in flight in this process: which requests join one, which must wait, which are refused, and how long each
 * waits. run-payment.ts says what happens to a payment.
 */
import type { Clock } from '../clock.ts'
import type { VerifiedPayment } from '../payment.ts'
import { isSamePurchase } from '../reservations/same-purchase.ts'
import type { GateLimits } from './gate-limits.ts'
import { GateClosed } from './ledger-poller.ts'
import type { AnyOutcome, PaymentForJob } from './paid-job.ts'
import { createPaymentProgress, type PaymentProgress, runPayment } from './run-payment.ts'
import type { GateParts } from './submit-payment.ts'

type InFlight = {
  readonly payment: VerifiedPayment
  readonly fingerprint: string
  /** From the request that brought it. */
  readonly requestId: string | undefined
  readonly progress: PaymentProgress
  readonly done: Promise<AnyOutcome>
}

const ALREADY_USED: AnyOutcome = { kind: 'challenged', error: 'payment_already_used' }

/** The payments in flight of one gate. */
export function createPaymentsInFlight(gate: GateParts) {
  const { clock, limits, reservations } = gate
  const inFlight = new Map<string, InFlight>()
  const bySubject = new Map<string, Set<InFlight>>()
  const pending: AnyOutcome = { kind: 'pending', retryAfterSeconds: limits.retryAfterSeconds }
  const waits = { clock, limits, pending }
  let closing: Promise<void> | undefined
  const hasSome = (subject: string, isSuch: (other: InFlight) => boolean): boolean =>
    [...(bySubject.get(subject) ?? [])].some(isSuch)

  function start(paid: PaymentForJob): InFlight {
    const { job, payment } = paid
    const { fingerprint, requestId, subject } = job
    const ofSubject = bySubject.get(subject) ?? new Set()
    const progress = createPaymentProgress(clock, limits)
    const done = unlessClosed(runPayment(gate, { ...paid, progress }), pending).finally(() => {
      inFlight.delete(payment.id)
      ofSubject.delete(started)
      if (ofSubject.size === 0) bySubject.delete(subject)
      progress.markReserved()
    })
    const started: InFlight = { payment, fingerprint, requestId, progress, done }
    inFlight.set(payment.id, started)
    bySubject.set(subject, ofSubject.add(started))
    return started
  }

  async function closeAll(): Promise<void> {
    const running = [...inFlight.values()]
    gate.poller.close()
    for (const { progress } of running) progress.close()
    const timeUp = Promise.withResolvers<void>()
    const cancel = clock.after(limits.closeWaitMs, timeUp.resolve)
    await Promise.race([Promise.allSettled(running.map(({ done }) => done)), timeUp.promise])
    cancel()
    for (const { progress } of running) progress.giveUp()
  }

  return {
    /**
     * Joins this payment if it is in flight, otherwise runs it, and waits as long as a request may. A resumed payment is not
     * blocked by other payments.
     */
    async joinOrRun(paid: PaymentForJob): Promise<AnyOutcome> {
      const { job, payment } = paid
      const { id } = payment
      for (let running = inFlight.get(id); running !== undefined; running = inFlight.get(id)) {
        if (isSamePurchase(running, paid)) {
          if (job.keepsAnswer !== undefined && (await reservations.hasGuessed(paid)))
            return ALREADY_USED
          running.progress.wake()
          gate.poller.wake(id)
          return await waitFor(running, waits)
        }
        await running.progress.reserved
        if (inFlight.get(id) === running) {
          await reservations.noteGuess(paid)
          return ALREADY_USED
        }
      }
      // A twin's outcome may be this one's answer, so this one is left unsettled (X9).
      if (!paid.isResumed && hasSome(job.subject, (other) => isTwin(other, paid))) return pending
      if (closing !== undefined || inFlight.size >= limits.inFlightMax) {
        return { kind: 'unavailable', dependency: 'facilitator' }
      }
      return await waitFor(start(paid), waits)
    },
    /** The ids of those that run now. */
    ids: (): ReadonlySet<string> => new Set(inFlight.keys()),
    isPending: (subject: string): boolean =>
      hasSome(subject, ({ progress }) => progress.isPossiblySettled()),
    /** The request id given by the job that brought this payment; undefined if it is not in flight. */
    findRequestId: (paymentId: string): string | undefined => inFlight.get(paymentId)?.requestId,
    close: (): Promise<void> => {
      closing ??= closeAll()
      return closing
    },
  }
}

/** The outcome, or `pending` if it takes longer than a request may wait or the gate has closed. */
async function waitFor(
  { done, progress }: InFlight,
  { clock, limits, pending }: { clock: Clock; limits: GateLimits; pending: AnyOutcome },
): Promise<AnyOutcome> {
  const timeUp = Promise.withResolvers<void>()
  const cancels = [clock.after(limits.requestWaitMs, timeUp.resolve)]
  let isOver = false
  const shorten = async (): Promise<void> => {
    await progress.inDoubt
    // Doubt only shortens the wait: the first limit stays.
    if (!isOver) cancels.push(clock.after(limits.doubtWaitMs, timeUp.resolve))
  }
  void shorten()
  try {
    const outcome = await Promise.race([done, timeUp.promise, progress.givenUp])
    return outcome ?? pending
  } finally {
    isOver = true
    for (const cancel of cancels) cancel()
  }
}

/** A payment's outcome; a payment stopped by the closing gate is pending. */
async function unlessClosed(
  running: Promise<AnyOutcome>,
  pending: AnyOutcome,
): Promise<AnyOutcome> {
  try {
    return await running
  } catch (error) {
    if (error instanceof GateClosed) return pending
    throw error
  }
}

/** Whether two payments come from one payer for the same thing. */
const isTwin = (other: InFlight, { job, payment }: PaymentForJob): boolean =>
  other.fingerprint === job.fingerprint && other.payment.payer === payment.payer
