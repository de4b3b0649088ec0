// Prices, the network's identity, and the methods that the relay refuses.

import { type Hex, keccak256, numberToHex } from 'viem'
import type { Ledger } from '../ledger/ledger.ts'
import { CHAIN_ID } from '../ledger/network.ts'
import { findBlockNumber } from './block-methods.ts'
import { type JsonObject, toWeibar } from './outer-view.ts'
import { type RpcMethods, refusals, required } from './rpc-method.ts'

/** Most blocks that eth_feeHistory covers (the relay's FEE_HISTORY_MAX_RESULTS). */
const FEE_HISTORY_BLOCKS_MAX = 10

/** Methods that the relay knows and refuses. */
const UNSUPPORTED = [
  'eth_blobBaseFee',
  'eth_coinbase',
  'eth_getProof',
  'eth_getWork',
  'eth_newPendingTransactionFilter',
  'eth_protocolVersion',
  'eth_sendTransaction',
  'eth_sign',
  'eth_signTransaction',
  'eth_submitHashrate',
  'eth_createAccessList',
  'eth_simulateV1',
  'net_peerCount',
]

export function networkMethods(ledger: Ledger): RpcMethods {
  return {
    eth_chainId: () => numberToHex(CHAIN_ID),
    net_version: () => String(CHAIN_ID),
    net_listening: () => true,
    web3_clientVersion: () => 'tallystick-devnet/0.1.0',
    web3_sha3: ([data]) => {
      if (typeof data !== 'string' || !/^0x(?:[0-9a-fA-F]{2})*$/.test(data)) {
        throw refusals.invalidParameter(0, 'Expected 0x prefixed hexadecimal value')
      }
      return keccak256(data as Hex)
    },
    eth_accounts: () => [],
    eth_syncing: () => false,
    eth_mining: () => false,
    eth_hashrate: () => '0x0',
    eth_submitWork: () => false,
    eth_gasPrice: () => toWeibar(ledger.settings.gasPriceTinybar),
    eth_maxPriorityFeePerGas: () => '0x0',
    eth_feeHistory: (p) => feeHistory(ledger, p),
    ...Object.fromEntries(
      UNSUPPORTED.map((method) => [
        method,
        () => {
          throw refusals.unsupportedMethod()
        },
      ]),
    ),
  }
}

async function feeHistory(ledger: Ledger, p: readonly unknown[]): Promise<JsonObject> {
  const blockCount = Number(required(p, 0))
  const newest = await findBlockNumber(ledger, required(p, 1))
  if (newest === undefined) throw refusals.unknownBlock()
  if (!Number.isSafeInteger(blockCount) || blockCount < 0) {
    throw refusals.invalidParameter(0, 'Expected a block count')
  }
  const count = Math.min(blockCount, FEE_HISTORY_BLOCKS_MAX, newest + 1)
  const percentiles = Array.isArray(p[2]) && p[2].length > 0 ? p[2] : undefined
  const price = toWeibar(ledger.settings.gasPriceTinybar)
  // The relay reports a ratio of one half whatever the blocks held, and no tips.
  return {
    oldestBlock: numberToHex(newest - count + 1),
    baseFeePerGas: Array.from({ length: count + 1 }, () => price),
    gasUsedRatio: Array.from({ length: count }, () => 0.5),
    ...(percentiles === undefined
      ? {}
      : { reward: Array.from({ length: count }, () => percentiles.map(() => '0x0')) }),
  }
}
