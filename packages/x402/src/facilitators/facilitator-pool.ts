/**
 * Several facilitators as one (X19): which of them may settle a payment, healthy ones first, and whose fee payer the next
 * challenge names. gate/submit-payment.ts says when a payment goes from one to the next.
 */
import { type Clock, systemClock } from '../clock.ts'
import type { PaymentRequirement } from '../payment.ts'
import {
  type Facilitator,
  type FacilitatorRoute,
  FacilitatorUnavailable,
  type TurningAway,
} from './facilitator.ts'
import { createFeePayerDirectory, type FeePayerDirectory } from './fee-payers.ts'

type PoolMember = {
  readonly facilitator: Facilitator
  /**
   * Whether its success is believed, as your own facilitator's may be. Otherwise the ledger is read first, which costs a few
   * calls on EVM and the mirror node's lag of 3 to 10 s on Hedera.
   */
  readonly isTrusted?: boolean
  /** Configured fee payers by network; they take precedence over its `/supported`. */
  readonly feePayers?: ReadonlyMap<string, readonly string[]> | undefined
}

/** How long a failed facilitator is asked last; otherwise the next payment would wait for it in vain. */
const UNWELL_MS = 30_000

/**
 * How long no payment is asked for that only a facilitator could settle which turned the last one away, milliseconds: the first
 * time as long as its buyer waits, then twice as long, so that one that is mended sells again within half a minute. Then payments are asked for again, since only
 * a payment shows whether it settles: its `/supported` answered all the while. The buyer who finds that it does not is free
 * within 15 s.
 */
const AWAY_FIRST_MS = 15_000
const AWAY_MAX_MS = 30_000

/**
 * A pool, in order of preference. A payment that names a fee payer goes only to facilitators that pay from that account;
 * any may submit a signed transfer of a token. Use `pool.directory` for challenges, and pass the pool as the gate's
 * `facilitator`. Throws RangeError without members.
 */
export function createFacilitatorPool(options: {
  readonly members: readonly PoolMember[]
  readonly clock?: Clock | undefined
  readonly refreshMs?: number
}) {
  const { clock = systemClock, refreshMs } = options
  if (options.members.length === 0) throw new RangeError('a pool needs a facilitator')
  const members = options.members.map((member) => watched(member, { clock, refreshMs }))
  /** Healthy members first, otherwise as configured. */
  const inOrder = () => members.toSorted((left, right) => left.ills() - right.ills())
  const listFeePayers = (network: string): readonly string[] => [
    ...new Set(inOrder().flatMap(({ directory }) => directory.feePayers(network))),
  ]

  function routesFor({ extra, network }: PaymentRequirement): readonly FacilitatorRoute[] {
    const { feePayer } = extra
    return inOrder().filter(
      ({ directory }) =>
        typeof feePayer !== 'string' || directory.feePayers(network).includes(feePayer),
    )
  }

  async function untilAsked(): Promise<void> {
    await Promise.all(members.map((member) => member.directory.firstAttempt))
  }

  const firstAttempt = untilAsked()
  const directory: FeePayerDirectory = {
    feePayers: listFeePayers,
    feePayer: (network) => listFeePayers(network)[0],
    state() {
      const states = members.map((member) => member.directory.state())
      const away = members.map(({ turningAway }) => turningAway)
      const well = states.find(({ failure }, at) => failure === undefined && !away[at])
      const [first] = away.filter((absence) => absence !== undefined)
      return (
        well ?? {
          readAtMs: undefined,
          failure: states[0]?.failure,
          turningAway: first && say(first),
        }
      )
    },
    firstAttempt,
    close: () => members.forEach((member) => member.directory.close()),
  }

  return { routesFor, directory }
}

const say = ({ answer, untilMs }: TurningAway): string =>
  `The facilitator answered the last settlement with ${answer} and settled nothing: no payment is asked for until ${new Date(untilMs).toISOString()}.`

/** When a facilitator may be asked for payments again after it turned some away. */
function createAway(clock: Clock) {
  let last: TurningAway | undefined
  let pauseMs = AWAY_FIRST_MS
  return {
    current: (): TurningAway | undefined =>
      last !== undefined && clock.unixMs() < last.untilMs ? last : undefined,
    /** Any word about a payment shows that it reads them. */
    over(): void {
      last = undefined
      pauseMs = AWAY_FIRST_MS
    },
    turned(answer: string): void {
      const nowMs = clock.unixMs()
      // Those that were already on their way prove nothing new.
      if (last !== undefined && nowMs < last.untilMs) return
      last = { answer, untilMs: nowMs + pauseMs }
      pauseMs = Math.min(pauseMs * 2, AWAY_MAX_MS)
    },
  }
}

/** A member whose failures are remembered. */
function watched(
  { facilitator, feePayers: configured, isTrusted = false }: PoolMember,
  { clock, refreshMs }: { readonly clock: Clock; readonly refreshMs: number | undefined },
) {
  const directory = createFeePayerDirectory({ facilitator, clock, refreshMs, configured })
  const away = createAway(clock)
  let failedAtMs = Number.NEGATIVE_INFINITY
  const settle: Facilitator['settle'] = async (payload, requirement) => {
    try {
      const settlement = await facilitator.settle(payload, requirement)
      failedAtMs = Number.NEGATIVE_INFINITY
      away.over()
      return settlement
    } catch (error) {
      failedAtMs = clock.unixMs()
      if (error instanceof FacilitatorUnavailable && error.turnedAway !== undefined)
        away.turned(error.turnedAway)
      throw error
    }
  }
  return {
    facilitator: { settle },
    isTrusted,
    directory,
    get turningAway(): TurningAway | undefined {
      return away.current()
    },
    /** Weighs what counts against it: settlements turned away, one that failed lately, a `/supported` that does not answer. */
    ills: (): number =>
      (away.current() === undefined ? 0 : 4) +
      (clock.unixMs() - failedAtMs < UNWELL_MS ? 2 : 0) +
      (directory.state().failure === undefined ? 0 : 1),
  }
}
