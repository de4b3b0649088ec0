import { type Hex, numberToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAnvilGenerations } from './anvil-generations.ts'
import { startAnvil } from './anvil-process.ts'

const GENERATION_BLOCKS = 8
const GENESIS = 1_700_000_000
const SENDER = '0x00000000000000000000000000000000000000bb'
/** Stores the second word of its calldata under the first. */
const STORE = '0x00000000000000000000000000000000000000aa'

let anvil: Awaited<ReturnType<typeof startAnvilGenerations>>
let starts = 0
let newest = 0
const hashes: Hex[] = []

const word = (value: number): string => value.toString(16).padStart(64, '0')

/** One transaction in a block of its own, as the ledger makes them. */
async function store(slot: number, value: number): Promise<void> {
  await anvil.succeedIfDue(newest)
  const data = `0x${word(slot)}${word(value)}`
  const sent = { from: SENDER, to: STORE, data, gas: '0x186a0', gasPrice: '0x6d' }
  const [, receipt] = await anvil.batch([
    ['evm_setNextBlockTimestamp', [GENESIS + 100 + newest]],
    ['eth_sendTransactionSync', [sent]],
  ])
  const { blockNumber, blockHash } = receipt as { blockNumber: Hex; blockHash: Hex }
  newest = Number(blockNumber)
  hashes[newest] = blockHash
}

const blockAt = (number: number) =>
  anvil.call('eth_getBlockByNumber', [numberToHex(number), false]) as Promise<{
    hash: Hex
    parentHash: Hex
  } | null>

beforeAll(async () => {
  anvil = await startAnvilGenerations(() => {
    starts += 1
    return startAnvil({ chainId: 296, genesisSecond: GENESIS, gasLimit: 15_000_000 })
  }, GENERATION_BLOCKS)
  await anvil.batch([
    ['anvil_setCode', [STORE, '0x6020355f355500']],
    ['anvil_setBalance', [SENDER, numberToHex(10n ** 18n)]],
  ])
  for (let slot = 0; slot < 3 * GENERATION_BLOCKS; slot += 1) await store(slot, slot % 2)
})
afterAll(() => anvil.stop())

describe('L19: one anvil succeeds another', () => {
  test('numbers, hashes, nonces and state go on as if it were one', async () => {
    expect(newest).toBe(3 * GENERATION_BLOCKS)
    expect(starts).toBeGreaterThanOrEqual(3)
    expect(await anvil.call('eth_getTransactionCount', [SENDER, 'latest'])).toBe(
      numberToHex(newest),
    )
    const slots = await anvil.batch(
      [1, 2, 3].map((slot) => ['eth_getStorageAt', [STORE, numberToHex(slot), 'latest']]),
    )
    expect(slots).toEqual([1, 0, 1].map((value) => `0x${word(value)}`))
    for (let number = 2 * GENERATION_BLOCKS; number <= newest; number += 1) {
      expect((await blockAt(number))?.parentHash).toBe(hashes[number - 1])
    }
  })

  test('the one before answers for its own blocks, by number and by hash', async () => {
    const number = 2 * GENERATION_BLOCKS - 2
    expect((await blockAt(number))?.hash).toBe(hashes[number])
    expect(await anvil.call('eth_getBlockByHash', [hashes[number], false])).toMatchObject({
      number: numberToHex(number),
    })
    const reads = [13, 14, newest].map(
      (block) => ['eth_getStorageAt', [STORE, '0xd', numberToHex(block)]] as const,
    )
    expect(await anvil.batch(reads)).toEqual([0, 1, 1].map((value) => `0x${word(value)}`))
  })

  test('what is older is forgotten', async () => {
    expect(await blockAt(2)).toBeNull()
    expect(await anvil.call('eth_getBlockByHash', [hashes[2], false])).toBeNull()
  })
})
