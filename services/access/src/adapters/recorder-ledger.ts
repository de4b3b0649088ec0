/**
 * The ledger of one recorder key over JSON-RPC: encodes batches for the access contract, signs them with a local
 * account, sends the bytes exactly once per request, and decodes what their receipts counted. Nonces, prices, order and
 * repetition are decided in transactions/.
 */
import type { Hex } from '../domain/access-window.ts'
import type { UsageCount, UsageEntry, UsageLedger, WindowId } from '../metering/usage-ledger.ts'
import { GAS_PRICE_FACTOR, SEAL_AT_AGENTS } from '../metering/usage-limits.ts'
import {
  createTransactionSigner,
  decodeContractEvents,
  encodeCall,
  readWindow,
  withoutChecksum,
} from './contract-calls.ts'
import {
  type LedgerFacts,
  type LedgerLog,
  readNonce,
  readReceipt,
  WEIBAR_PER_TINYBAR,
} from './ledger-facts.ts'
import { type Relay, sendTransaction } from './relay.ts'

/** Gas of a transaction before its first entry: 21,000, the call, and a margin. */
const BASE_GAS = 45_000n
/** Gas of one entry at its most expensive, the first of its window (10,900), with its call data and a margin. */
const ENTRY_GAS = 16_000n

type RecorderLedgerOptions = {
  readonly relay: Relay
  readonly facts: Pick<LedgerFacts, 'gasPriceWeibar' | 'latestBlock'>
  readonly chainId: number
  readonly contract: Hex
  /** The recorder's key, which the contract must know as a recorder. */
  readonly privateKey: Hex
}

/** Gas limit of a transaction with that many entries: no more than it may need, since the account must hold all of it. */
export function usageGasLimit(entryCount: number): bigint {
  return BASE_GAS + ENTRY_GAS * BigInt(entryCount)
}

/** Computes what the recorder must hold for a full batch at a quoted gas price, tinybar. */
export const fullBatchTinybar = (quotedWeibar: bigint): bigint =>
  (usageGasLimit(SEAL_AT_AGENTS) * GAS_PRICE_FACTOR * quotedWeibar) / WEIBAR_PER_TINYBAR

/** Reads what the recorder holds, and what it must hold for a full batch, tinybar. Throws the relay's errors. */
export async function readRecorderGas(facts: LedgerFacts, recorder: Hex) {
  const [balanceTinybar, gasPrice] = await Promise.all([
    facts.balanceTinybar(recorder)(),
    facts.gasPriceWeibar(),
  ])
  return { balanceTinybar, neededTinybar: fullBatchTinybar(gasPrice) }
}

/** Returns the ledger of that key. It connects to nothing yet. Requests reject with the relay's errors. */
export function createRecorderLedger(options: RecorderLedgerOptions): UsageLedger {
  const { chainId, contract, facts, relay } = options
  const signer = createTransactionSigner(options.privateKey)
  const readOwnNonce = () => readNonce(relay, signer.address)
  return {
    readNonce: readOwnNonce,
    quoteGasPriceWeibar() {
      // It is used for half a minute, so it must be fresh.
      facts.gasPriceWeibar.forget()
      return facts.gasPriceWeibar()
    },
    sign: ({ entries, ...offer }) =>
      signer.sign({
        ...offer,
        chainId,
        to: contract,
        data: encodeUsage(entries),
        gas: usageGasLimit(entries.length),
        valueWeibar: 0n,
      }),
    async send(signed) {
      const result = await sendTransaction(relay, signed)
      if (result.kind !== 'wrong-nonce') return { kind: result.kind }
      const ledgerNonce = await readOwnNonce()
      // The read lags: these same bytes may have used it, if the relay sent them twice.
      if (ledgerNonce === signed.nonce) throw result.error
      return { kind: ledgerNonce > signed.nonce ? 'nonce-too-low' : 'nonce-too-high' }
    },
    async readReceipt(hash) {
      const receipt = await readReceipt(relay, hash as Hex)
      if (receipt === undefined) return undefined
      const costTinybar = receipt.costWeibar / WEIBAR_PER_TINYBAR
      if (receipt.status === 'reverted') return { kind: 'reverted', costTinybar }
      return { kind: 'mined', counts: decodeUsageCounts(receipt.logs, contract), costTinybar }
    },
    readBlockSeconds: async () => (await facts.latestBlock()).timestamp,
    async readCallsUsed({ agent, windowExpiresAtSeconds }) {
      const atSeconds = windowExpiresAtSeconds - 1
      const window = await readWindow(relay, { contract, agent: agent as Hex, atSeconds })
      return window.expiresAtSeconds === windowExpiresAtSeconds ? window.callsUsed : null
    },
  }
}

/** One entry as `recordUsage`, any other number as `recordUsageBatch`. */
export function encodeUsage(entries: readonly UsageEntry[]): Hex {
  const [first] = entries
  if (first !== undefined && entries.length === 1)
    return encodeCall('recordUsage', [first.agent, first.calls, first.windowExpiresAtSeconds])
  return encodeCall('recordUsageBatch', [entries.map(packUsage)])
}

/** A word of `recordUsageBatch`: agent (160 bits, high), calls (32, two's complement), end of the window (64, low). */
function packUsage({ agent, calls, windowExpiresAtSeconds }: UsageEntry): Hex {
  const packedCalls = (calls >>> 0).toString(16).padStart(8, '0')
  return `0x${agent.slice(2)}${packedCalls}${windowExpiresAtSeconds.toString(16).padStart(16, '0')}`
}

/** Reads what `contract` counted from a receipt's logs, in their order; skips other contracts and other events. */
export function decodeUsageCounts(logs: readonly LedgerLog[], contract: Hex): UsageCount[] {
  return decodeContractEvents(logs, contract).flatMap(({ args, eventName }): UsageCount[] => {
    if (eventName === 'UsageRecorded')
      return [{ kind: 'recorded', ...readWindowId(args), callsUsed: args.callsUsed }]
    if (eventName === 'UsageRefused')
      return [{ kind: 'refused', ...readWindowId(args), calls: args.calls }]
    if (eventName === 'UsageLate')
      return [{ kind: 'late', ...readWindowId(args), calls: args.calls }]
    return []
  })
}

const readWindowId = (args: {
  readonly agent: Hex
  readonly windowExpiresAt: bigint
}): WindowId => ({
  agent: withoutChecksum(args.agent),
  windowExpiresAtSeconds: Number(args.windowExpiresAt),
})
