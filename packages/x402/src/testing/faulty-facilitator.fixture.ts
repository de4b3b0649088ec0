// An EVM network with an honest facilitator and one with a named fault in the middle of a settlement.
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { type Facilitator, FacilitatorUnavailable } from '../facilitators/facilitator.ts'
import type { PaymentPayload, PaymentRequirement, Settlement } from '../payment.ts'
import { X_LAYER_USDT0 } from '../schemes/evm/evm-asset.ts'
import { createExactEvmScheme } from '../schemes/evm/exact-evm-scheme.ts'
import { EVM_NOW_SECONDS, EvmStandIn } from './evm-stand-in.fixture.ts'

/** What the faulty facilitator does with each payment. */
export const FACILITATOR_FAULTS = [
  'refuses the connection',
  'is killed before it submits',
  'is killed after it submitted',
  'is killed, and its transaction is mined later',
  'hangs',
  'hangs, having submitted',
  'says success without submitting',
  'names another transaction',
  'says that it refused, having submitted',
  'says that it refused, and submits later',
  'says pending, having submitted',
  'answers nonsense',
  'turns the request away',
  'turns the request away, having submitted',
] as const
export type FacilitatorFault = (typeof FACILITATOR_FAULTS)[number]

/** A made-up transaction hash. */
const NO_TRANSACTION = `0x${'ee'.repeat(32)}`
/** How long a late transaction waits to be mined. */
export const LATER_MS = 4_000

/** A chain, its clock, and facilitators over it. */
export class EvmNetwork {
  readonly clock: ManualClock = manualClock(EVM_NOW_SECONDS * 1_000)
  readonly chain = new EvmStandIn(this.clock)
  /** Payments that moved money, by id. */
  readonly debits: string[] = []

  get scheme() {
    const { chain, clock } = this
    return createExactEvmScheme({ assets: [X_LAYER_USDT0], ledger: chain.ledger, clock })
  }

  /** Submits; undefined if the token reverts it. */
  async submit({ payload }: PaymentPayload, requirement: PaymentRequirement) {
    const verified = await this.scheme.verify(payload, requirement)
    if (verified.kind !== 'valid') return undefined
    const transaction = this.chain.submit(verified.payment)
    if (transaction !== undefined) this.debits.push(verified.payment.id)
    return transaction
  }

  /** A facilitator that does what it says. */
  honest(): Facilitator {
    return {
      settle: async (payload, requirement) => {
        const { network } = requirement
        const transaction = await this.submit(payload, requirement)
        return transaction === undefined
          ? { success: false, transaction: '', network, errorReason: 'nonce_already_used' }
          : { success: true, transaction, network }
      },
      feePayers: async () => new Map(),
    }
  }

  faulty(fault: FacilitatorFault): Facilitator {
    return { settle: (...call) => this.#fail(fault, call), feePayers: async () => new Map() }
  }

  async #fail(
    fault: FacilitatorFault,
    [payload, requirement]: [PaymentPayload, PaymentRequirement],
  ): Promise<Settlement> {
    const { network } = requirement
    const submit = () => this.submit(payload, requirement)
    const later = () => void this.clock.after(LATER_MS, () => void submit())
    const refusal = (errorReason: string, transaction = ''): Settlement => {
      return { success: false, transaction, network, errorReason }
    }
    switch (fault) {
      case 'refuses the connection':
        throw new FacilitatorUnavailable('refused', { nothingSent: true })
      case 'is killed before it submits':
        throw new FacilitatorUnavailable('reset')
      case 'is killed after it submitted':
        await submit()
        throw new FacilitatorUnavailable('reset')
      case 'is killed, and its transaction is mined later':
        later()
        throw new FacilitatorUnavailable('reset')
      case 'hangs':
        return await new Promise(() => {})
      case 'hangs, having submitted':
        await submit()
        return await new Promise(() => {})
      case 'says success without submitting':
        return { success: true, transaction: NO_TRANSACTION, network }
      case 'names another transaction':
        await submit()
        return { success: true, transaction: NO_TRANSACTION, network }
      case 'says that it refused, having submitted':
        await submit()
        return refusal('invalid_payload')
      case 'says that it refused, and submits later':
        later()
        return refusal('insufficient_funds')
      case 'says pending, having submitted':
        return refusal('settlement_pending', (await submit()) ?? '')
      case 'answers nonsense':
        throw new FacilitatorUnavailable('nonsense')
      case 'turns the request away':
        throw new FacilitatorUnavailable('nonsense', { turnedAway: 'status 404' })
      case 'turns the request away, having submitted':
        await submit()
        throw new FacilitatorUnavailable('nonsense', { turnedAway: 'status 503' })
      default:
        return fault satisfies never
    }
  }
}
