import type { Clock } from '../../clock.ts'
import { LedgerUnavailable } from '../payment-scheme.ts'
import { FEE_MAX_TINYBAR, HBAR_ASSET } from './hbar.ts'
import type { MirrorNode } from './mirror-node.ts'

/** The network's price of an HBAR transfer: a hundredth of a US cent (docs.hedera.com/networks/mainnet/fees). */
const TRANSFERS_PER_CENT = 100n

/** A transfer of a token costs as much as so many of HBAR: a tenth of a cent. */
const TOKEN_TRANSFERS = 10n

/** A payer must allow this many times that price: more signatures cost a little more, and the rate moves within the hour. */
const MARGIN = 2n

/** The floor until a rate has been read: that of one dollar per HBAR, the lowest floor of any likely rate. */
const UNREAD_TINYBAR = 20_000n

/** The network sets its rate once an hour, milliseconds. */
const KEPT_MS = 3_600_000

/** Pause after a mirror node did not answer, milliseconds. */
const RETRY_MS = 60_000

/** The least fee that a payment in an asset must allow, tinybar. */
export type FeeFloor = (asset: string) => Promise<bigint>

/**
 * The least `maxTransactionFee` with which the network takes a transfer, tinybar, from its exchange rate (X14). Never throws
 * because of the mirror node: the last rate read stays in use.
 */
export function createFeeFloor(options: {
  readonly mirror: Pick<MirrorNode, 'tinybarPerCent'>
  readonly clock: Clock
}): FeeFloor {
  const { clock, mirror } = options
  let floor = UNREAD_TINYBAR
  let dueAtMs = Number.NEGATIVE_INFINITY
  let reading = Promise.resolve()

  const read = async (): Promise<void> => {
    try {
      floor = (MARGIN * (await mirror.tinybarPerCent())) / TRANSFERS_PER_CENT
    } catch (error) {
      if (!(error instanceof LedgerUnavailable)) throw error
      dueAtMs = clock.unixMs() + RETRY_MS
    }
  }

  return async (asset) => {
    if (clock.unixMs() >= dueAtMs) {
      dueAtMs = clock.unixMs() + KEPT_MS
      reading = read()
    }
    await reading
    const needed = asset === HBAR_ASSET ? floor : floor * TOKEN_TRANSFERS
    return needed < FEE_MAX_TINYBAR ? needed : FEE_MAX_TINYBAR
  }
}
