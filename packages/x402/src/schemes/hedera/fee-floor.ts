import type { Clock } from '../../clock.ts'
import { LedgerUnavailable } from '../payment-scheme.ts'
import { FEE_MAX_TINYBAR, HBAR_ASSET } from './hbar.ts'
import type { MirrorNode } from './mirror-node.ts'

/**
 * The network's prices in hundredths of a US cent (docs.hedera.com/networks/fees): a transfer of HBAR costs one, of a token with custom
 * fees 20, and a second signature, such as the fee payer's, one more. A plain token costs half, but may be given fees at any time.
 */
const UNITS_PER_CENT = 100n
const HBAR_UNITS = 2n
const TOKEN_UNITS = 21n

/** A payer must allow this many times that price: more signatures cost a little more, and the rate moves within the hour. */
const MARGIN = 2n

/** A cent until a rate has been read: at one dollar per HBAR, the lowest of any likely rate. */
const UNREAD_TINYBAR = 1_000_000n

/** The network sets its rate once an hour, milliseconds. */
const KEPT_MS = 3_600_000

/** Pause after a mirror node did not answer, milliseconds. */
const RETRY_MS = 60_000

/** The least fee that a payment in an asset must allow, tinybar. */
export type FeeFloor = (asset: string) => Promise<bigint>

/**
 * The least `maxTransactionFee` with which the network takes a transfer, tinybar, from its exchange rate (X14). What associating
 * `payTo` costs is no part of it: the network charges that besides, whatever a payment allows. Never throws because of the mirror
 * node: the last rate read stays in use.
 */
export function createFeeFloor(options: {
  readonly mirror: Pick<MirrorNode, 'tinybarPerCent'>
  readonly clock: Clock
}): FeeFloor {
  const { clock, mirror } = options
  let tinybarPerCent = UNREAD_TINYBAR
  let dueAtMs = Number.NEGATIVE_INFINITY
  let reading = Promise.resolve()

  const read = async (): Promise<void> => {
    try {
      tinybarPerCent = await mirror.tinybarPerCent()
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
    const units = asset === HBAR_ASSET ? HBAR_UNITS : TOKEN_UNITS
    const needed = (MARGIN * units * tinybarPerCent) / UNITS_PER_CENT
    return needed < FEE_MAX_TINYBAR ? needed : FEE_MAX_TINYBAR
  }
}
