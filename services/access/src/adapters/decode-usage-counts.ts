import { accessWindowAbi } from '@tallystick/contracts'
import { decodeAbiParameters, type Hex, type Log, toEventSelector } from 'viem'
import type { UsageCount } from '../domain/usage-ledger.ts'

/** What is read of a log. */
export type CountLog = Pick<Log, 'address' | 'data' | 'topics'>

type CountName = 'UsageRecorded' | 'UsageRefused' | 'UsageLate'

/** All three have the agent as their one topic, and these as their data. */
const COUNT_DATA = [{ type: 'uint64' }, { type: 'uint32' }] as const

const names = new Map<string, CountName>()
// Hashed once: viem's parseEventLogs hashes every event of the interface for each receipt, and one more for each log.
for (const item of accessWindowAbi) {
  if (item.type !== 'event') continue
  const { name } = item
  if (name === 'UsageRecorded' || name === 'UsageRefused' || name === 'UsageLate')
    names.set(toEventSelector(item), name)
}

/** What a receipt's logs say was counted by `contract`, in their order; other contracts and other events are passed over. */
export function decodeUsageCounts(logs: readonly CountLog[], contract: Hex): UsageCount[] {
  const own = contract.toLowerCase()
  return logs.flatMap(({ address, data, topics: [selector, agent] }): UsageCount[] => {
    const name = names.get(selector ?? '')
    if (name === undefined || agent === undefined || address.toLowerCase() !== own) return []
    const [windowExpiresAt, calls] = decodeAbiParameters(COUNT_DATA, data)
    const window = {
      agent: `0x${agent.slice(-40).toLowerCase()}`,
      windowExpiresAtSeconds: Number(windowExpiresAt),
    }
    if (name === 'UsageRecorded') return [{ kind: 'recorded', ...window, callsUsed: calls }]
    return [{ kind: name === 'UsageLate' ? 'late' : 'refused', ...window, calls }]
  })
}
