// The slots of a contract, for `status`: when windows end, for how many agents, and whether the network will renew them.
// All offers so far determine in which seconds windows may end, so nothing is searched for.
import { accessWindowRules } from '@tallystick/contracts'
import { isoText } from '@tallystick/service-kit/clock'
import { readView } from '../adapters/contract-calls.ts'
import type { ContractView } from './operator-contract.ts'

/** Slots read at most, in three requests of the relay: a day in slots of a quarter of an hour, and several offers of four. */
const SLOTS_MAX = 128
/** The contract packs a slot's period above this many bits. */
const PERIOD_BITS = 40n

/** A slot that has agents; times are Unix seconds. */
type ContractSlot = {
  readonly periodSeconds: number
  /** The first end of windows that is not booked yet. */
  readonly nextSecond: number
  readonly agents: number
  /** The pending call's entity number, 0 if there is none. */
  readonly schedule: bigint
  readonly scheduledAtSeconds: number
}

/** `undefined`: more slots are possible than are read one by one. */
type ContractSlots = readonly ContractSlot[] | undefined

/** Slots in which windows of the offers end, each once; spread by the contract's address, as in the contract. */
function listSlotIds(
  address: bigint,
  offers: readonly { readonly periodSeconds: number; readonly slotSeconds: number }[],
): ReadonlySet<bigint> | undefined {
  const ids = new Set<bigint>()
  for (const { periodSeconds, slotSeconds } of offers) {
    const width = BigInt(slotSeconds)
    const first = (width - (address % width)) % width
    for (let second = first; second < BigInt(periodSeconds); second += width) {
      ids.add((BigInt(periodSeconds) << PERIOD_BITS) | second)
      if (ids.size > SLOTS_MAX) return undefined
    }
  }
  return ids
}

/** Every slot of the contract that has agents. Throws the relay's errors. */
export async function readSlots({ relay, contract }: ContractView): Promise<ContractSlots> {
  const count = await readView(relay, { contract, functionName: 'offerCount' })
  const offers = await Promise.all(
    Array.from({ length: count }, (_, offerId) =>
      readView(relay, { contract, functionName: 'offerAt', args: [offerId] }),
    ),
  )
  const ids = listSlotIds(BigInt(contract), offers)
  if (ids === undefined) return undefined
  const reading = Array.from(ids, async (slotId) => {
    const read = { contract, functionName: 'slotAt', args: [slotId] } as const
    const [nextSecond, agents, schedule, scheduledAt] = await readView(relay, read)
    return {
      periodSeconds: Number(slotId >> PERIOD_BITS),
      nextSecond: Number(nextSecond),
      agents,
      schedule: BigInt(schedule),
      scheduledAtSeconds: Number(scheduledAt),
    }
  })
  return (await Promise.all(reading)).filter(({ agents }) => agents > 0)
}

function describeCall({ schedule, scheduledAtSeconds }: ContractSlot, nowSeconds: number): string {
  if (schedule === 0n) return 'not armed'
  const at = `${isoText(scheduledAtSeconds)} by 0.0.${schedule}`
  const isLost = scheduledAtSeconds + accessWindowRules.overdueSeconds < nowSeconds
  return isLost ? `LOST, was armed for ${at}` : `armed for ${at}`
}

/** One row for each slot: the next end of its windows, its agents, and the pending call. */
export function slotRows(
  slots: ContractSlots,
  nowSeconds: number,
): readonly (readonly [string, string])[] {
  if (slots === undefined) return [['Slots', `not listed: over ${SLOTS_MAX} are possible`]]
  return slots.map((slot) => {
    const { agents, nextSecond, periodSeconds } = slot
    const missed = Math.max(0, Math.ceil((nowSeconds - nextSecond) / periodSeconds))
    const end = isoText(nextSecond + missed * periodSeconds)
    const who = `${agents} ${agents === 1 ? 'agent' : 'agents'}${missed > 1 ? ' when last booked' : ''}`
    return [
      'Slot',
      `${end} and every ${periodSeconds} s: ${who}, ${describeCall(slot, nowSeconds)}`,
    ]
  })
}
