/**
 * Several facilitators as one (X19): which of them may settle a payment, healthy ones first, and whose fee payer the next
 * challenge names. gate/submit-payment.ts says when a payment goes from one to the next.
 */
import type { Clock } from '../clock.ts'
import type { PaymentRequirement } from '../payment.ts'
import type { Facilitator, FacilitatorRoute } from './facilitator.ts'
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
 * A pool, in order of preference. A payment that names a fee payer goes only to facilitators that pay from that account;
 * any may submit a signed transfer of a token. Use `pool.directory` for challenges, and pass the pool as the gate's
 * `facilitator`. Throws RangeError without members.
 */
export function createFacilitatorPool(options: {
  readonly members: readonly PoolMember[]
  readonly clock: Clock
  readonly refreshMs?: number
}) {
  const { clock, refreshMs } = options
  if (options.members.length === 0) throw new RangeError('a pool needs a facilitator')
  const members = options.members.map((member) => watched(member, { clock, refreshMs }))
  /** Healthy members first, otherwise as configured. */
  const inOrder = () => members.toSorted((left, right) => left.ills() - right.ills())
  const feePayersOf = (network: string): readonly string[] => [
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
    feePayers: feePayersOf,
    feePayer: (network) => feePayersOf(network)[0],
    state() {
      const states = members.map((member) => member.directory.state())
      const well = states.find(({ failure }) => failure === undefined)
      return well ?? { readAtMs: undefined, failure: states[0]?.failure }
    },
    firstAttempt,
    close: () => members.forEach((member) => member.directory.close()),
  }

  return { routesFor, directory }
}

/** A member whose failures are remembered. */
function watched(
  { facilitator, feePayers: configured, isTrusted = false }: PoolMember,
  { clock, refreshMs }: { readonly clock: Clock; readonly refreshMs: number | undefined },
) {
  const directory = createFeePayerDirectory({ facilitator, clock, refreshMs, configured })
  let failedAtMs = Number.NEGATIVE_INFINITY
  const settle: Facilitator['settle'] = async (payload, requirement) => {
    try {
      const settlement = await facilitator.settle(payload, requirement)
      failedAtMs = Number.NEGATIVE_INFINITY
      return settlement
    } catch (error) {
      failedAtMs = clock.unixMs()
      throw error
    }
  }
  return {
    facilitator: { settle },
    isTrusted,
    directory,
    /** What counts against it: a settlement that failed lately, a `/supported` that does not answer. */
    ills: (): number =>
      (clock.unixMs() - failedAtMs < UNWELL_MS ? 2 : 0) +
      (directory.state().failure === undefined ? 0 : 1),
  }
}
