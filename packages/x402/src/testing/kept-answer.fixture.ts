/** Gates whose jobs keep their answers for their payer (X9, G4); a crash is a second gate over the same store. */
import type { PaidJob, PaymentOutcome } from '../gate/paid-job.ts'
import type { Reservation, ReservationStore } from '../reservations/reservation-store.ts'
import { type GateFixtureOptions, type Grant, gateFixture } from './gate.fixture.ts'
import { PAYER } from './hedera-stand-in.fixture.ts'

export type Kept = PaidJob<string, Grant, string>
type Outcome = PaymentOutcome<Grant, string>

/** What a payment gets while it must wait. */
export const PENDING = { kind: 'pending', retryAfterSeconds: 3 }

/** A job for something other than the fixture's own. */
export const elsewhere = { fingerprint: 'POST /api/grade b', subject: 'POST /api/grade b' }

/** A gate whose jobs keep their answers; each fulfilment grants something different. */
export function keptAnswerFixture(options: GateFixtureOptions = {}) {
  const fixture = gateFixture(options)
  const { gate, ledger, runs, terms } = fixture
  const job = (changes: Partial<Kept> = {}): Kept => ({
    ...fixture.job(),
    fingerprint: 'POST /api/grade a',
    subject: 'POST /api/grade a',
    mayHonour: async () => true,
    async fulfil(prepared, { payment }) {
      runs.fulfilled += 1
      return { granted: `${prepared} ${runs.fulfilled}`, payer: payment.payer }
    },
    ...changes,
    keepsAnswer: true,
  })
  const send = (header: string, changes: Partial<Kept> = {}): Promise<Outcome> =>
    gate.pay({ paymentSignature: header }, terms, job(changes))
  /** A call with a new payment. */
  const buy = async (changes: Partial<Kept> & { payer?: string } = {}): Promise<Outcome> => {
    const { payer = PAYER, ...rest } = changes
    return await send(await ledger.pay(terms, { payer }), rest)
  }
  return { ...fixture, job, send, buy }
}

/** What an earlier process leaves behind: a settled payment, killed before its answer was kept. */
export async function crashedFixture(changes: Partial<Kept> = {}) {
  const first = keptAnswerFixture()
  const header = await first.ledger.pay(first.terms)
  const killed = first.send(header, {
    ...changes,
    async fulfil() {
      throw new Error('killed')
    },
  })
  await first.ledger.clock.advanceMsSettled(1_000)
  await first.gate.close()
  await killed
  const { ledger, reservations } = first
  return { header, first, second: keptAnswerFixture({ ledger, reservations }) }
}

/** Reports that the answer has left for its payer. */
export async function deliver(outcome: Outcome): Promise<void> {
  if (outcome.kind !== 'paid' || outcome.delivered === undefined) throw new Error(outcome.kind)
  await outcome.delivered()
}

/** An outcome without its `delivered` function. */
export const plain = (outcome: Outcome): unknown => JSON.parse(JSON.stringify(outcome))

/** The one reservation without an answer. */
export async function onlyOpen(reservations: ReservationStore): Promise<Reservation> {
  const [open] = await reservations.open()
  if (open === undefined) throw new Error('nothing is open')
  return open
}
