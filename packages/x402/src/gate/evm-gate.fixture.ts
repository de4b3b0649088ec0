// Shared by the tests of what the gate asks an EVM chain before it works for a payment.
import { manualClock } from '@tallystick/service-kit'
import { FacilitatorUnavailable } from '../facilitators/facilitator.ts'
import { type Settlement } from '../payment.ts'
import { createMemoryReservationStore } from '../reservations/memory-reservation-store.ts'
import { X_LAYER_USDT0 } from '../schemes/evm/evm-asset.ts'
import { createExactEvmScheme } from '../schemes/evm/exact-evm-scheme.ts'
import {
  centRequirement,
  EVM_NOW_SECONDS,
  EvmStandIn,
  payCent,
  settlementEvents,
} from '../testing/evm-stand-in.fixture.ts'
import { type PaymentTerms } from './challenge.ts'
import { type GateEvent } from './gate-event.ts'
import { type PaidJob } from './paid-job.ts'
import { createPaymentGate } from './payment-gate.ts'

export const terms: PaymentTerms = {
  requirements: [centRequirement()],
  resource: { url: 'https://grading.example/api/grade', description: 'x', mimeType: 'text/plain' },
}

type GateOptions = Parameters<typeof createPaymentGate>[0]

/** A gate on a stand-in of an EVM chain, with a facilitator that fails as told. */
export function evmGateFixture(options: {
  readonly settle: 'front_run' | 'lost' | 'never_asked' | 'no_hash'
}) {
  const chain = new EvmStandIn()
  const clock = manualClock(EVM_NOW_SECONDS * 1_000)
  const reservations = createMemoryReservationStore({ clock })
  const scheme = createExactEvmScheme({ assets: [X_LAYER_USDT0], ledger: chain.ledger, clock })
  const counts = { prepared: 0, settled: 0, fulfilled: 0 }
  const events: GateEvent[] = []
  const landings: (number | undefined)[] = []
  /** Another process's may have a store and a look at the chain of its own. */
  const openGate = (own: Partial<Pick<GateOptions, 'reservations' | 'schemes'>> = {}) =>
    createPaymentGate({
      schemes: [scheme],
      reservations,
      ...own,
      clock,
      observe: (event) => events.push(event),
      facilitator: {
        async settle(payload, requirement): Promise<Settlement> {
          counts.settled += 1
          const verified = await scheme.verify(payload.payload, requirement)
          if (verified.kind !== 'valid') throw new Error('the gate has verified it')
          if (options.settle === 'no_hash')
            return { success: true, transaction: '0x', network: requirement.network }
          chain.mine(settlementEvents(verified.payment))
          if (options.settle === 'lost') throw new FacilitatorUnavailable('the answer got lost')
          const errorReason = 'invalid_exact_evm_nonce_already_used'
          return { success: false, transaction: '', network: requirement.network, errorReason }
        },
        feePayers: async () => new Map(),
      },
    })
  const job = (fingerprint = 'POST /api/grade 1'): PaidJob<string, string, never> => ({
    fingerprint,
    subject: 'payer',
    async prepare() {
      counts.prepared += 1
      return { kind: 'ready', prepared: 'A' }
    },
    mayHonour: async () => true,
    async fulfil(prepared, { landedAtSeconds }) {
      counts.fulfilled += 1
      landings.push(landedAtSeconds)
      return prepared
    },
  })
  const gate = openGate()
  return { chain, clock, counts, events, gate, job, landings, openGate, reservations, scheme }
}

/** A payment of a cent, as its header and as its payload. */
export async function header(): Promise<{ paymentSignature: string; payload: unknown }> {
  const [accepted] = terms.requirements
  const payload = await payCent()
  const envelope = { x402Version: 2, payload, accepted, resource: terms.resource }
  return { payload, paymentSignature: Buffer.from(JSON.stringify(envelope)).toString('base64') }
}

/** The same job, whose answer is kept for its payer. */
export const keepingAnswer = (
  job: PaidJob<string, string, never>,
): PaidJob<string, string, never> => ({
  ...job,
  keepsAnswer: true,
})
