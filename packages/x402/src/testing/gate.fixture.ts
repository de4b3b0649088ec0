import type { Clock } from '../clock.ts'
import type { Facilitator } from '../facilitators/facilitator.ts'
import type { GateEvent } from '../gate/gate-event.ts'
import type { GateLimits } from '../gate/gate-limits.ts'
import type { PaidJob } from '../gate/paid-job.ts'
import { createPaymentGate } from '../gate/payment-gate.ts'
import type { ReceiptIssuer } from '../receipts/receipt-issuer.ts'
import { createMemoryReservationStore } from '../reservations/memory-reservation-store.ts'
import type { ReservationStore } from '../reservations/reservation-store.ts'
import { agentOfMemo } from '../schemes/hedera/payment-memo.ts'
import { HederaStandIn, standInTerms } from './hedera-stand-in.fixture.ts'

export type Grant = { readonly granted: string; readonly payer: string }
export type Job = PaidJob<string, Grant, string>

/** The agent that the tests' payments are for, unless they say otherwise. */
export const AGENT = `0x${'ab'.repeat(20)}`

export type GateFixtureOptions = {
  readonly ledger?: HederaStandIn
  /** By default the ledger's. */
  readonly facilitator?: Facilitator
  readonly clock?: Clock
  readonly limits?: Partial<GateLimits>
  readonly reservations?: ReservationStore
  readonly receipts?: Pick<ReceiptIssuer, 'withReceipt'> & Partial<ReceiptIssuer>
}

/** A gate over the ledger stand-in, with a job that counts how often each of its steps ran. */
export function gateFixture(options: GateFixtureOptions = {}) {
  const { ledger = new HederaStandIn(), limits = {} } = options
  const { clock } = ledger
  const events: GateEvent[] = []
  const reservations = options.reservations ?? createMemoryReservationStore({ clock })
  const gate = createPaymentGate({
    schemes: [ledger.scheme],
    facilitator: options.facilitator ?? ledger.facilitator,
    reservations,
    clock,
    limits,
    receipts: options.receipts,
    observe: (event) => events.push(event),
  })
  const runs = { prepared: 0, fulfilled: 0, mayHonourAsked: 0 }
  const job = (changes: Partial<Job> = {}): Job => ({
    fingerprint: `GET /access ${AGENT}`,
    subject: AGENT,
    async prepare() {
      runs.prepared += 1
      return { kind: 'ready', prepared: 'resource' }
    },
    async mayHonour(payment) {
      runs.mayHonourAsked += 1
      return (agentOfMemo(payment.memo) ?? payment.payerEvmAddress) === AGENT
    },
    async fulfil(prepared, { payment }) {
      runs.fulfilled += 1
      return { granted: prepared, payer: payment.payer }
    },
    ...changes,
  })
  return { clock, events, gate, job, ledger, reservations, runs, terms: standInTerms() }
}
