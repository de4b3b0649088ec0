// C32: what a replay leaves in memory. The verdicts themselves are shown by the store's suites.
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { GENESIS_PREV_HASH } from '@tallystick/hashchain'
import { expect, test } from 'vitest'
import { entryLeafHash, nextEntry, writeJournalEntry } from './journal-entry.ts'
import { createErasedChainReplay, createStoredChainReplay } from './verify-chain.ts'

const CHAINS = 4_000
const slot = { patient: 'ann', domain: 'tea', audience: 'user' } as const
const record = { ...slot, value: 'x'.repeat(4_000), authorId: 'dr-osei', authorLabel: 'Dr Osei' }

setFlagsFromString('--expose-gc')
const collect: NodeJS.GCFunction = runInNewContext('gc')

const oldBytes = (): number => {
  // Twice: what survives the first is kept for long.
  for (let round = 0; round < 2; round += 1) collect({ type: 'minor' })
  const spaces = getHeapSpaceStatistics().filter(({ space_name: name }) => name === 'old_space')
  return spaces.reduce((sum, { space_used_size: bytes }) => sum + bytes, 0)
}

test('C32: a replayed chain is gone with the next small collection: a million versions leave nothing to a large one', () => {
  const written = { record, prevHash: GENESIS_PREV_HASH, version: 1 }
  const next = { ...written, writtenAt: '2026-11-21T12:00:00.000Z', random: '0'.repeat(64) }
  const made = nextEntry(next)
  const bytes = Buffer.from(writeJournalEntry(made))
  const leafHash = entryLeafHash(bytes.toString())
  const before = oldBytes()
  for (let chain = 0; chain < CHAINS; chain += 1) {
    const replay = createStoredChainReplay(slot)
    // A text of its own, as opened from sealed bytes.
    replay.add({ version: 1, entry: bytes.toString(), leafHash })
    expect(replay.end(made)).toEqual({ versions: 1 })
    createErasedChainReplay(leafHash).add({ version: 1, entry: undefined, leafHash })
    if (chain % 100 === 99) oldBytes()
  }
  // The texts alone are 18 MB.
  expect(oldBytes() - before).toBeLessThan(4_000_000)
})
