import { accessWindowAbi } from '@tallystick/contracts'
import { encodeAbiParameters, encodeEventTopics, type Hex, type Log, parseEventLogs } from 'viem'
import { expect, test } from 'vitest'
import { decodeUsageCounts } from './decode-usage-counts.ts'

const CONTRACT: Hex = '0xAbCdEf0000000000000000000000000000000001'
const AGENT: Hex = '0x00000000000000000000000000000000000A11CE'
const ENDS_AT = 1_800_000_000

type CountName = 'UsageRecorded' | 'UsageRefused' | 'UsageLate'

function countLog(eventName: CountName, calls: number, address: Hex = CONTRACT): Log {
  const abi = accessWindowAbi
  return {
    address,
    topics: encodeEventTopics({ abi, eventName, args: { agent: AGENT } }) as [Hex, ...Hex[]],
    data: encodeAbiParameters([{ type: 'uint64' }, { type: 'uint32' }], [BigInt(ENDS_AT), calls]),
    blockHash: null,
    blockNumber: null,
    blockTimestamp: undefined,
    logIndex: null,
    removed: false,
    transactionHash: null,
    transactionIndex: null,
  } as unknown as Log
}

const window = { agent: AGENT.toLowerCase(), windowExpiresAtSeconds: ENDS_AT }

test('recorded, refused and late are told apart, in the order of the logs', () => {
  const logs = [countLog('UsageLate', 3), countLog('UsageRecorded', 7), countLog('UsageRefused', 2)]
  expect(decodeUsageCounts(logs, CONTRACT)).toEqual([
    { kind: 'late', ...window, calls: 3 },
    { kind: 'recorded', ...window, callsUsed: 7 },
    { kind: 'refused', ...window, calls: 2 },
  ])
  const names = parseEventLogs({ abi: accessWindowAbi, logs }).map(({ eventName }) => eventName)
  expect(names).toEqual(['UsageLate', 'UsageRecorded', 'UsageRefused'])
})

test('another contract’s events, and other events, count nothing; the case of an address says nothing', () => {
  const stranger: Hex = '0x0000000000000000000000000000000000000bad'
  const unknown = { ...countLog('UsageRecorded', 1), topics: [`0x${'7'.repeat(64)}`] } as Log
  const own = countLog('UsageRecorded', 1, CONTRACT.toLowerCase() as Hex)
  expect(
    decodeUsageCounts([countLog('UsageRecorded', 9, stranger), unknown, own], CONTRACT),
  ).toEqual([{ kind: 'recorded', ...window, callsUsed: 1 }])
})
