import type { Address } from 'viem'
import type { AccessContract } from './access-contract.ts'
import type { CancelOutcome, TopUpOutcome } from './access-outcome.ts'

/** Errors of the contract that say that there is nothing to do. */
const NOTHING_TO_CANCEL = 'AccessWindow_NothingToCancel'
const NOTHING_TO_CLAIM = 'AccessWindow_NothingToClaim'
const NO_OPEN_WINDOW = 'AccessWindow_NoOpenWindow'

/** Ends renewals of the signer's own subscription and claims what is left of its balance. Throws LedgerUnavailable. */
export async function cancelAndClaim(contract: AccessContract): Promise<CancelOutcome> {
  const cancelled = await contract.cancel()
  if (cancelled.kind === 'refused' && cancelled.errorName !== NOTHING_TO_CANCEL) return cancelled
  if (cancelled.kind === 'done' && cancelled.refundTinybar === 0n) {
    return { kind: 'cancelled', refundTinybar: 0n, transaction: undefined }
  }
  // also after an earlier cancel whose refund was never claimed
  const claimed = await contract.claimRefund({ isCertain: cancelled.kind === 'done' })
  if (claimed.kind === 'done') {
    const { amountTinybar, transaction } = claimed
    return { kind: 'cancelled', refundTinybar: amountTinybar, transaction }
  }
  return claimed.errorName === NOTHING_TO_CLAIM ? { kind: 'nothing-to-cancel' } : claimed
}

/** Adds to the balance of an agent's open window. Throws LedgerUnavailable. */
export async function topUp(
  contract: AccessContract,
  options: { readonly agent: Address; readonly amountTinybar: bigint },
): Promise<TopUpOutcome> {
  const { amountTinybar } = options
  const outcome = await contract.topUp(options)
  if (outcome.kind === 'done') {
    const { balanceTinybar, transaction } = outcome
    return { kind: 'topped-up', amountTinybar, balanceTinybar, transaction }
  }
  return outcome.errorName === NO_OPEN_WINDOW ? { kind: 'no-open-window' } : outcome
}
