import type { ReadinessCheck, ReadinessFinding } from '@tallystick/service-kit'
import type { FeePayerDirectory } from '@tallystick/x402'
import type { CreditSweep } from './domain/credit-sweep.ts'
import {
  type AccessContract,
  ChainUnavailable,
  ContractAbsent,
  type ContractSender,
  type PaymentLog,
} from './domain/ports.ts'
import { purchaseTinybar } from './domain/sales-terms.ts'

/** The sweep reads every 10 s and the mirror lags by up to 10 s: three times that is a mirror node that stands still. */
const MIRROR_BEHIND_SECONDS = 60

export type ReadinessDeps = {
  readonly contract: AccessContract
  readonly sender: ContractSender
  readonly sweep: CreditSweep
  readonly feePayers: FeePayerDirectory
  readonly network: string
  readonly periodsPerPurchase: number
  /** `0.0.x`. */
  readonly payTo: string
  readonly log: Pick<PaymentLog, 'evmAddressOf'>
  /** What the recorder's account holds, and what it must hold for a full batch, tinybar. */
  readonly recorderGas: () => Promise<{ readonly held: bigint; readonly needed: bigint }>
}

const ready: ReadinessFinding = { kind: 'ready' }
const notReady = (
  reason: string,
  details?: Readonly<Record<string, unknown>>,
): ReadinessFinding => ({
  kind: 'not-ready',
  reason,
  ...(details === undefined ? {} : { details }),
})

/** Names a ledger that is down, rather than the check that met it. */
const onLedger =
  (check: ReadinessCheck): ReadinessCheck =>
  async () => {
    try {
      return await check()
    } catch (error) {
      if (error instanceof ContractAbsent) return notReady('contract_not_deployed')
      const isAnother = error instanceof ChainUnavailable && error.isAnotherChain
      return notReady(isAnother ? 'wrong_chain' : 'chain_unavailable')
    }
  }

/** What the service cannot sell or serve without, by name. */
export function accessReadiness(deps: ReadinessDeps): Readonly<Record<string, ReadinessCheck>> {
  const { contract, sender, sweep, feePayers } = deps
  return {
    contract: onLedger(async () => {
      await contract.ensureDeployed()
      return ready
    }),
    async facilitator() {
      if (feePayers.feePayer(deps.network) === undefined) return notReady('no_fee_payer')
      return feePayers.state().failure === undefined ? ready : notReady('facilitator_down')
    },
    async mirror() {
      const ageSeconds = sweep.ageSeconds()
      if (!sweep.hasReadPastStart()) return notReady('payments_unread')
      if (ageSeconds === undefined || ageSeconds > MIRROR_BEHIND_SECONDS)
        return notReady('mirror_behind', { ageSeconds })
      return ready
    },
    float: onLedger(async () => {
      // A mirror node that is down is told by its own check.
      const payTo = await deps.log.evmAddressOf(deps.payTo).catch(() => sender.address)
      if (payTo !== sender.address) return notReady('payto_key_mismatch')
      const [offers, held, gas] = await Promise.all([
        contract.offers(),
        sender.floatTinybar(),
        sender.forwardGasTinybar(),
      ])
      const current = offers.at(-1)
      const purchase =
        current === undefined ? 0n : purchaseTinybar(current, deps.periodsPerPurchase)
      const needed = purchase + gas
      return held >= needed
        ? ready
        : notReady('payto_float_low', { heldTinybar: String(held), neededTinybar: String(needed) })
    }),
    recorder: onLedger(async () => {
      const { held, needed } = await deps.recorderGas()
      return held >= needed
        ? ready
        : notReady('recorder_gas_low', { heldTinybar: String(held), neededTinybar: String(needed) })
    }),
  }
}
