import { accessWindowAbi } from '@tallystick/contracts'
import type { Clock } from '@tallystick/service-kit'
import { LedgerUnavailable } from '@tallystick/x402'
import type { MirrorNode } from '@tallystick/x402/hedera'
import { getAbiItem, type Hex, toEventSelector } from 'viem'
import type { SellerHistory, SellerMovement } from '../domain/seller-account.ts'

const KINDS = {
  EarningsWithdrawn: 'earnings-withdrawn',
  ReserveWithdrawn: 'reserve-withdrawn',
  ReserveFunded: 'reserve-funded',
  Skimmed: 'reserve-funded',
} as const satisfies Record<string, SellerMovement['kind']>

// Each has the amount as its only data.
const kinds = new Map(
  Object.entries(KINDS).map(([name, kind]) => [
    toEventSelector(getAbiItem({ abi: accessWindowAbi, name: name as keyof typeof KINDS })),
    kind,
  ]),
)

/** The ledger's clock may be ahead of ours. */
const CLOCK_SECONDS = 60

/** The seller's movements through a mirror node: the contract's events, and the gas of two accounts. */
export function createMirrorSellerHistory(options: {
  readonly mirror: MirrorNode
  readonly clock: Clock
  readonly contract: Hex
  /** `0.0.x`. */
  readonly payTo: string
  /** EVM address. */
  readonly recorder: Hex
}): SellerHistory {
  const { mirror, clock, contract, payTo, recorder } = options
  return {
    async createdAt() {
      const created = await mirror.contractCreated(contract)
      if (created === undefined) throw new LedgerUnavailable('the mirror node has no such contract')
      // A nanosecond before, because its own events have the very time of its creation.
      const [seconds = '', nanos = ''] = created.split('.')
      const before = String(BigInt(seconds + nanos.padEnd(9, '0')) - 1n)
      return `${before.slice(0, -9)}.${before.slice(-9)}`
    },
    async *movementsAfter(afterTimestamp) {
      const untilSeconds = Math.floor(clock.unixMs() / 1000) + CLOCK_SECONDS
      const topics = [...kinds.keys()]
      const logs = mirror.logs({ address: contract, topics, afterTimestamp, untilSeconds })
      for await (const {
        consensusTimestamp,
        data,
        topics: [selector = '0x'],
      } of logs) {
        const kind = kinds.get(selector)
        if (kind !== undefined) yield { kind, consensusTimestamp, tinybar: BigInt(data) }
      }
    },
    async *gasPaidAfter(account, afterTimestamp) {
      const accountId = account === 'payTo' ? payTo : (await mirror.account(recorder))?.accountId
      if (accountId !== undefined) yield* mirror.gasPaid({ accountId, afterTimestamp })
    },
  }
}
