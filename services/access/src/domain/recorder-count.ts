/**
 * Compares who may count calls on the contract with RECORDER_COUNT. A process that counts alone keeps what it leased; one that
 * does not know of another would share a quota without saying so (A11, A18).
 */
import { atMost, type Clock, DAY_SECONDS, keptRead } from '@tallystick/service-kit'
import { LedgerUnavailable } from '@tallystick/x402'
import { type Hex, ledgerSeconds } from './access-window.ts'
import type { SellerHistory } from './seller-account.ts'

/** How long a finding is used, milliseconds: a change shows within this time, and `/ready` may be asked every second. */
const KEPT_MS = 30_000

/**
 * How far back a read begins once all was read, seconds: a mirror node searches a week in one request, and one that lags by days is
 * reported by another check.
 */
const READ_AGAIN_SECONDS = 6 * DAY_SECONDS

/** Longest that a finding is waited for, milliseconds: the first read of a contract of years takes a request a week. */
const WAITED_MS_MAX = 2_000

/** Reads who may count calls now. The contract answers for one address at a time; the history knows all that were ever set. */
export function createRecorderReader(deps: {
  readonly clock: Clock
  readonly history: Pick<SellerHistory, 'createdAt' | 'movementsAfter'>
  readonly isRecorder: (account: Hex) => Promise<boolean>
}) {
  const { clock, history } = deps
  const named = new Set<Hex>()
  let readTo: string | undefined
  /** Reads on from where the last read ended. Throws what the history or the contract throws. */
  return async (): Promise<readonly Hex[]> => {
    const againSeconds = ledgerSeconds(clock) - READ_AGAIN_SECONDS
    for await (const movement of history.movementsAfter(readTo ?? (await history.createdAt()))) {
      if (movement.kind === 'recorder-set') named.add(movement.recorder)
      readTo = movement.consensusTimestamp
    }
    if (Number(readTo ?? 0) < againSeconds) readTo = `${againSeconds}.000000000`
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
  const isRecorder = (account: Hex) => contract.isRecorder(account)
  const read =
    history &&
    keptRead({
      clock,
      keptMs: KEPT_MS,
      read: createRecorderReader({ clock, history, isRecorder }),
    })
  let recorders: readonly Hex[] = []
  const readOn = async (): Promise<void> => {
    try {
      recorders = (await read?.()) ?? []
    } catch (error) {
      // Another check reports a mirror node that is down.
      if (!(error instanceof LedgerUnavailable)) throw error
    }
  }
  return {
    /** Who may count calls now, as read at most 30 s ago. Throws ChainUnavailable, ContractAbsent or LedgerUnavailable. */
    readRecorders: async (): Promise<readonly Hex[]> => (await read?.()) ?? [],
    /**
     * A sentence with both numbers if the contract has more recorders than this process counts with; undefined otherwise. What the
     * mirror node does not answer in time, it says as it was found last. Throws ChainUnavailable or ContractAbsent.
     */
    async findSurplus(): Promise<string | undefined> {
      await atMost(clock, WAITED_MS_MAX, readOn())
      if (recorders.length <= recorderCount) return undefined
      return `The contract has ${recorders.length} recorders (${recorders.join(', ')}), RECORDER_COUNT says ${recorderCount}: set RECORDER_COUNT=${recorders.length} and one SESSION_SECRET in every process, or take away those that count no more: access-operator recorders remove 0x….`
    },
  }
}
