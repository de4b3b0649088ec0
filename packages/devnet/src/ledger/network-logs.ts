import { type Hex, hexToBytes, keccak256 } from 'viem'
import type { InnerLog } from '../anvil/anvil-client.ts'
import { longZeroNumber } from './entity-id.ts'
import type { EvmTransaction } from './transaction-index.ts'

/** Entities up to this number are the network's own, including its system contracts. */
const SYSTEM_NUMBER_MAX = 1_000

/** The logs of a transaction that exist on the network: those of the emulated system contracts do not. */
export function networkLogs(transaction: EvmTransaction): InnerLog[] {
  return transaction.receipt.logs.filter(({ address }) => {
    const number = longZeroNumber(address)
    return number === undefined || number > SYSTEM_NUMBER_MAX
  })
}

/** The bloom filter of logs: three bits of 2,048 for each address and topic. */
export function computeBloom(logs: readonly Pick<InnerLog, 'address' | 'topics'>[]): Hex {
  const bits = Buffer.alloc(256)
  for (const item of logs.flatMap(({ address, topics }) => [address, ...topics])) {
    const hash = hexToBytes(keccak256(item))
    for (const at of [0, 2, 4]) {
      const bit = (((hash[at] ?? 0) << 8) | (hash[at + 1] ?? 0)) & 2_047
      const byte = 255 - (bit >> 3)
      bits[byte] = (bits[byte] ?? 0) | (1 << (bit & 7))
    }
  }
  return `0x${bits.toString('hex')}`
}
