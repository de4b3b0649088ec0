import type { Clock } from '../../clock.ts'
import { LedgerUnavailable } from '../payment-scheme.ts'
import { FEE_MAX_TINYBAR } from './hbar.ts'
import type { MirrorNode } from './mirror-node.ts'

/** What the network asks for a transfer of HBAR: a hundredth of a US cent (docs.hedera.com/networks/mainnet/fees). */
const TRANSFERS_PER_CENT = 100n

/** A payer must allow so many times that price: further signatures cost a little, and the rate moves within the hour. */
const MARGIN = 2n

/** Asked of a payer while the rate was never read: the floor at a dollar for one HBAR, which no lower rate undercuts. */
const UNREAD_TINYBAR = 20_000n

/** The network sets its rate once an hour, milliseconds. */
const KEPT_MS = 3_600_000

/** Pause after a mirror node did not answer, milliseconds. */
const RETRY_MS = 60_000

/**
 * The least `maxTransactionFee` with which the network takes a transfer, tinybar, from its exchange rate (X14). Never throws
 * on the mirror node's account: what was read last holds.
 */
export function createFeeFloor(options: {
  readonly mirror: Pick<MirrorNode, 'tinybarPerCent'>
  readonly clock: Clock
}): () => Promise<bigint> {
  const { clock, mirror } = options
  let floor = UNREAD_TINYBAR
  let dueAtMs = Number.NEGATIVE_INFINITY
  let reading = Promise.resolve()

  const read = async (): Promise<void> => {
    try {
      const needed = (MARGIN * (await mirror.tinybarPerCent())) / TRANSFERS_PER_CENT
      floor = needed < FEE_MAX_TINYBAR ? needed : FEE_MAX_TINYBAR
    } catch (error) {
      if (!(error instanceof LedgerUnavailable)) throw error
      dueAtMs = clock.unixMs() + RETRY_MS
    }
  }

  return async () => {
    if (clock.unixMs() >= dueAtMs) {
      dueAtMs = clock.unixMs() + KEPT_MS
      reading = read()
    }
    await reading
    return floor
  }
}
