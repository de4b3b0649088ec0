import { zeroAddress } from 'viem'
import { expect, test } from 'vitest'
import { outerLogs } from '../rpc/outer-view.ts'
import { computeBloom } from './network-logs.ts'
import type { EvmTransaction } from './transaction-index.ts'

test('L20: logs are numbered without the system contracts’ own, and the bloom holds only what is shown', () => {
  const own = { address: `0x${'c7'.repeat(20)}`, topics: [`0x${'2a'.padStart(64, '0')}`] }
  const hidden = { address: `0x${'16b'.padStart(40, '0')}`, topics: [] }
  const receipt = { logs: [own, hidden, own] }
  const shown = outerLogs({ hash: '0x12', receipt } as unknown as EvmTransaction)
  expect(shown).toMatchObject([
    { ...own, logIndex: '0x0' },
    { ...own, logIndex: '0x1' },
  ])
  // Three bits each for the address and its topic, of which none coincide.
  const bits = [...Buffer.from(computeBloom([own as never]).slice(2), 'hex')]
  expect(bits.reduce((count, byte) => count + byte.toString(2).replaceAll('0', '').length, 0)).toBe(
    6,
  )
  expect(BigInt(computeBloom([]))).toBe(BigInt(zeroAddress))
})
