import { accessWindowAbi } from '@tallystick/contracts'
import type { Clock } from '@tallystick/service-kit'
import { LedgerUnavailable } from '@tallystick/x402'
import type { MirrorNode } from '@tallystick/x402/hedera'
import { getAbiItem, type Hex, toEventSelector } from 'viem'
import type { SellerHistory, SellerMovement, WindowMoney } from '../domain/seller-account.ts'
import { decodeContractEvents } from './contract-calls.ts'

const KINDS = {
  EarningsWithdrawn: 'earnings-withdrawn',
  ReserveWithdrawn: 'reserve-withdrawn',
  ReserveFunded: 'reserve-funded',
  Skimmed: 'reserve-funded',
  RecorderSet: 'recorder-set',
} as const satisfies Record<string, SellerMovement['kind']>

const WINDOW_TOPICS = (['SubscriptionOpened', 'SlotRenewed', 'GasCharged'] as const).map((name) =>
  toEventSelector(getAbiItem({ abi: accessWindowAbi, name })),
)

const kinds = new Map(
  Object.entries(KINDS).map(([name, kind]) => [
    toEventSelector(getAbiItem({ abi: accessWindowAbi, name: name as keyof typeof KINDS })),
    kind,
  ]),
)

/** RecorderSet names the account in its first indexed word; the others have an amount as their only data. */
function readMovement(log: {
  readonly consensusTimestamp: string
  readonly data: Hex
  readonly topics: readonly Hex[]
}): SellerMovement | undefined {
  const { consensusTimestamp, data, topics } = log
  const [selector = '0x', account = '0x'] = topics
  const kind = kinds.get(selector)
  if (kind === undefined) return undefined
  return kind === 'recorder-set'
    ? { kind, consensusTimestamp, recorder: `0x${account.slice(-40).toLowerCase()}` }
    : { kind, consensusTimestamp, tinybar: BigInt(data) }
}

const noMoney = (consensusTimestamp: string): WindowMoney => ({
  consensusTimestamp,
  openedOffers: [],
  renewedTinybar: 0n,
  renewalGasTinybar: 0n,
})

/** What one transaction did, and one more of its events. */
function withEvent(
  money: WindowMoney,
  { args, eventName }: ReturnType<typeof decodeContractEvents>[number],
): WindowMoney {
  if (eventName === 'SubscriptionOpened')
    return { ...money, openedOffers: [...money.openedOffers, args.offerId] }
  if (eventName === 'SlotRenewed')
    return { ...money, renewedTinybar: money.renewedTinybar + args.chargedTinybar }
  if (eventName === 'GasCharged')
    return { ...money, renewalGasTinybar: money.renewalGasTinybar + args.amountTinybar }
  return money
}

/** The ledger's clock may be ahead of ours. */
const CLOCK_SECONDS = 60

/** Up to where logs are asked for, Unix seconds. */
export const logsUntilSeconds = (clock: Pick<Clock, 'unixMs'>): number =>
  Math.floor(clock.unixMs() / 1_000) + CLOCK_SECONDS

/** The seller's movements through a mirror node: the contract's events, and the gas that accounts paid. */
export function createMirrorSellerHistory(options: {
  readonly mirror: MirrorNode
  readonly clock: Clock
  readonly contract: Hex
  /** `0.0.x`; without it its gas is unknown. */
  readonly payTo: string | undefined
}): SellerHistory {
  const { mirror, clock, contract, payTo } = options
  return {
    async createdAt() {
      const created = await mirror.contractCreated(contract)
      if (created === undefined) throw new LedgerUnavailable('the mirror node has no such contract')
      // A nanosecond before, because the first events have the timestamp of the creation.
      const [seconds = '', nanos = ''] = created.split('.')
      const before = String(BigInt(seconds + nanos.padEnd(9, '0')) - 1n)
      return `${before.slice(0, -9)}.${before.slice(-9)}`
    },
    async *movementsAfter(afterTimestamp) {
      const untilSeconds = logsUntilSeconds(clock)
      const topics = [...kinds.keys()]
      const logs = mirror.logs({ address: contract, topics, afterTimestamp, untilSeconds })
      for await (const log of logs) {
        const movement = readMovement(log)
        if (movement !== undefined) yield movement
      }
    },
    async *windowMoneyAfter(afterTimestamp) {
      const untilSeconds = logsUntilSeconds(clock)
      const wanted = { address: contract, topics: WINDOW_TOPICS, afterTimestamp, untilSeconds }
      let money: WindowMoney | undefined
      for await (const { consensusTimestamp, data, topics } of mirror.logs(wanted)) {
        if (money !== undefined && money.consensusTimestamp !== consensusTimestamp) yield money
        const before =
          money?.consensusTimestamp === consensusTimestamp ? money : noMoney(consensusTimestamp)
        const [event] = decodeContractEvents([{ address: contract, data, topics }], contract)
        money = event === undefined ? before : withEvent(before, event)
      }
      if (money !== undefined) yield money
    },
    async *gasPaidAfter(account, afterTimestamp) {
      const accountId = account === 'payTo' ? payTo : (await mirror.account(account))?.accountId
      if (accountId === undefined || (account !== 'payTo' && accountId === payTo)) return
      yield* mirror.gasPaid({ accountId, afterTimestamp })
    },
  }
}
