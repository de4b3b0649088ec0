/**
 * Compares who may count calls on the contract with RECORDER_COUNT. A process that counts alone keeps what it leased; one that
 * does not know of another would share a quota without saying so (A11, A18).
 */
import type { Clock } from '@tallystick/service-kit'
import { LedgerUnavailable } from '@tallystick/x402'
import type { Hex } from './access-window.ts'
import { keptRead } from './kept-read.ts'
import type { SellerHistory } from './seller-account.ts'

/** How long a finding is used, milliseconds: a change shows within this time, and `/ready` may be asked every second. */
const KEPT_MS = 30_000

/** Reads who may count calls now. The contract answers for one address at a time; the history knows all that were ever set. */
export function createRecorderReader(deps: {
  readonly history: Pick<SellerHistory, 'createdAt' | 'movementsAfter'>
  readonly isRecorder: (account: Hex) => Promise<boolean>
}) {
  const { history } = deps
  const named = new Set<Hex>()
  let readTo: string | undefined
  /** Reads on from where the last read ended. Throws what the history or the contract throws. */
  return async (): Promise<readonly Hex[]> => {
    for await (const movement of history.movementsAfter(readTo ?? (await history.createdAt()))) {
      if (movement.kind === 'recorder-set') named.add(movement.recorder)
      readTo = movement.consensusTimestamp
    }
    const answers = await Promise.all(
      [...named].map(async (account) => [account, await deps.isRecorder(account)] as const),
    )
    return answers.filter(([, isRecorder]) => isRecorder).map(([account]) => account)
  }
}

export type RecorderCount = ReturnType<typeof createRecorderCount>

export function createRecorderCount(deps: {
  readonly clock: Clock
  readonly contract: { isRecorder(account: Hex): Promise<boolean> }
  /** None before a contract is deployed. */
  readonly history: SellerHistory | undefined
  readonly recorderCount: number
}) {
  const { clock, contract, history, recorderCount } = deps
  const read =
    history &&
    keptRead({
      clock,
      keptMs: KEPT_MS,
      read: createRecorderReader({ history, isRecorder: (one) => contract.isRecorder(one) }),
    })
  return {
    /**
     * A sentence with both numbers if the contract has more recorders than this process counts with; undefined otherwise, and
     * while the mirror node does not answer. Throws ChainUnavailable or ContractAbsent.
     */
    async findSurplus(): Promise<string | undefined> {
      try {
        const recorders = (await read?.()) ?? []
        if (recorders.length <= recorderCount) return undefined
        return `The contract has ${recorders.length} recorders (${recorders.join(', ')}), RECORDER_COUNT says ${recorderCount}: set RECORDER_COUNT=${recorders.length} and one SESSION_SECRET in every process, or take away those that count no more: access-operator recorders remove 0x….`
      } catch (error) {
        // Another check reports a mirror node that is down.
        if (error instanceof LedgerUnavailable) return undefined
        throw error
      }
    },
  }
}
