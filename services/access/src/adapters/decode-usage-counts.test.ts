import { accessWindowAbi } from '@tallystick/contracts'
import { encodeAbiParameters, encodeEventTopics, type Hex } from 'viem'
import { expect, test } from 'vitest'
import type { LedgerLog } from './ledger-facts.ts'
import { decodeUsageCounts } from './recorder-ledger.ts'

const CONTRACT: Hex = '0xABCDEF0000000000000000000000000000000001'
const AGENT: Hex = '0x00000000000000000000000000000000000a11ce'
const ENDS_AT = 1_800_000_000

type CountName = 'UsageRecorded' | 'UsageRefused' | 'UsageLate'

function countLog(eventName: CountName, calls: number, address: Hex = CONTRACT): LedgerLog {
  const [selector] = encodeEventTopics({ abi: accessWindowAbi, eventName })
  return {
    address,
    topics: [selector, `0x${'0'.repeat(24)}${AGENT.slice(2)}`],
    data: encodeAbiParameters([{ type: 'uint64' }, { type: 'uint32' }], [BigInt(ENDS_AT), calls]),
  }
}

const window = { agent: AGENT, windowExpiresAtSeconds: ENDS_AT }

test('recorded, refused and late are told apart, in the order of the logs', () => {
  const logs = [countLog('UsageLate', 3), countLog('UsageRecorded', 7), countLog('UsageRefused', 2)]
  expect(decodeUsageCounts(logs, CONTRACT)).toEqual([
    { kind: 'late', ...window, calls: 3 },
    { kind: 'recorded', ...window, callsUsed: 7 },
    { kind: 'refused', ...window, calls: 2 },
  ])
})

test('another contract’s events, and other events, count nothing; the case of an address says nothing', () => {
  const stranger: Hex = '0x0000000000000000000000000000000000000bad'
  const args = { recorder: AGENT }
  const topics = encodeEventTopics({ abi: accessWindowAbi, eventName: 'RecorderSet', args })
  const data = encodeAbiParameters([{ type: 'bool' }], [true])
  const other: LedgerLog = { address: CONTRACT, topics: topics.map(String), data }
  const own = countLog('UsageRecorded', 1, CONTRACT.toLowerCase() as Hex)
  expect(decodeUsageCounts([countLog('UsageRecorded', 9, stranger), other, own], CONTRACT)).toEqual(
    [{ kind: 'recorded', ...window, callsUsed: 1 }],
  )
})
