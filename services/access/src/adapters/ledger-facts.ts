/**
 * Facts that several parts of the service need from the ledger, and that it sells by default: gas price, latest block, rate
 * of HBAR; and balances. Requests within about a block share one read.
 */
import { BoundedMap, type Clock, getOrMake, type KeptRead, keptRead } from '@tallystick/service-kit'
import { TINYBAR_PER_HBAR } from '@tallystick/x402/hedera'
import { type PaidResourceReader, ResourceUnavailable } from '../domain/access-parts.ts'
import type { Hex } from '../domain/access-window.ts'
import type { Relay } from './relay.ts'

/** A block of the ledger takes about two seconds. */
const BLOCK_MS = 2_000

/** The network sets its rate once an hour. */
const RATE_MS = 60_000

/** Accounts whose balance is kept: payTo's and the recorder's. */
const ACCOUNTS_MAX = 8

/** JSON-RPC counts value and gas price in weibar, the ledger and its contracts in tinybar. */
export const WEIBAR_PER_TINYBAR = 10_000_000_000n

/** Hedera's exchange-rate system contract (HIP-475), and its `tinybarsToTinycents(uint256)` of one HBAR. */
export const EXCHANGE_RATE_ADDRESS = '0x0000000000000000000000000000000000000168'
const ONE_HBAR_IN_TINYCENTS = `0x43a88229${TINYBAR_PER_HBAR.toString(16).padStart(64, '0')}`

type LedgerBlock = {
  readonly number: number
  readonly hash: string
  /** Unix seconds. */
  readonly timestamp: number
}

export type LedgerFacts = ReturnType<typeof createLedgerFacts>

/** Reads through the relay. Each rejects with the relay's errors. */
export function createLedgerFacts(options: {
  readonly relay: Pick<Relay, 'read'>
  readonly clock: Clock
}) {
  const { relay, clock } = options
  const balances = new BoundedMap<Hex, KeptRead<bigint>>(ACCOUNTS_MAX)
  const keepRead = <Value>(keptMs: number, read: () => Promise<Value>) =>
    keptRead({ clock, keptMs, read })
  const keepBalance = (account: Hex) =>
    keepRead(BLOCK_MS, async () => {
      const weibar = quantity(await relay.read('eth_getBalance', [account, 'latest']))
      return weibar / WEIBAR_PER_TINYBAR
    })
  return {
    /** As quoted now, weibar. */
    gasPriceWeibar: keepRead(BLOCK_MS, async () => quantity(await relay.read('eth_gasPrice', []))),
    latestBlock: keepRead(BLOCK_MS, async () =>
      toBlock(await relay.read('eth_getBlockByNumber', ['latest', false])),
    ),
    /** Value of one HBAR, 1e-8 of a US cent. */
    tinycentsPerHbar: keepRead(RATE_MS, async () => {
      const call = { to: EXCHANGE_RATE_ADDRESS, data: ONE_HBAR_IN_TINYCENTS }
      return quantity(await relay.read('eth_call', [call, 'latest']))
    }),
    /** Balance of an account, tinybar. */
    balanceTinybar: (account: Hex) => getOrMake(balances, account, () => keepBalance(account)),
  }
}

/** Conditions up to this age are served during a new read, milliseconds: a mirror node lags as much. They name their second. */
const SHOWN_MS = 10_000

/** The default resource (A13): the ledger's block with its time, gas price and HBAR rate. */
export function createLedgerConditions(options: {
  readonly facts: LedgerFacts
  readonly network: string
  readonly clock: Clock
}): PaidResourceReader {
  const { clock, facts, network } = options
  let last: { readonly atMs: number; readonly conditions: unknown } | undefined

  const ask = keptRead({
    clock,
    keptMs: BLOCK_MS,
    async read(): Promise<unknown> {
      try {
        const atMs = clock.unixMs()
        const [block, gasPriceWeibar, tinycentsPerHbar] = await Promise.all([
          facts.latestBlock(),
          facts.gasPriceWeibar(),
          facts.tinycentsPerHbar(),
        ])
        const conditions = {
          network,
          block,
          gasPriceTinybar: (gasPriceWeibar / WEIBAR_PER_TINYBAR).toString(),
          usdPerHbar: usdText(tinycentsPerHbar),
          readAt: Math.floor(atMs / 1000),
        }
        last = { atMs, conditions }
        return conditions
      } catch (error) {
        throw new ResourceUnavailable('the ledger’s conditions could not be read', { cause: error })
      }
    },
  })
  return {
    // Whoever reads next asks again, and hears of a failure.
    warm: () => void ask().catch(() => undefined),
    async read() {
      const reading = ask()
      if (last === undefined || clock.unixMs() - last.atMs > SHOWN_MS) return reading
      // A failure shows once these are too old.
      reading.catch(() => undefined)
      return last.conditions
    },
  }
}

/** Dollars with eight digits after the point, from tinycents (1e-8 cent). */
function usdText(tinycents: bigint): string {
  const eighths = tinycents / 100n
  return `${eighths / 100_000_000n}.${String(eighths % 100_000_000n).padStart(8, '0')}`
}

/** A number in hex. Throws TypeError for anything else. */
export function quantity(value: unknown): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]+$/.test(value))
    throw new TypeError('the relay answered no number')
  return BigInt(value)
}

function toBlock(value: unknown): LedgerBlock {
  const { number, hash, timestamp } = (value ?? {}) as Readonly<Record<string, unknown>>
  return {
    number: Number(quantity(number)),
    hash: String(hash),
    timestamp: Number(quantity(timestamp)),
  }
}

/** The parts of a log that are read. */
export type LedgerLog = {
  readonly address: string
  readonly data: string
  readonly topics: readonly string[]
}

/** The parts of a receipt that are read. */
export type LedgerReceipt = {
  readonly transactionHash: Hex
  readonly status: 'success' | 'reverted'
  readonly logs: readonly LedgerLog[]
  readonly gasUsed: bigint
  /** The ledger took this for it. */
  readonly costWeibar: bigint
  readonly blockNumber: bigint
  /** It created this contract. */
  readonly contractAddress: Hex | undefined
}

/** The receipt of a transaction, undefined while it has none. Throws the relay's errors. */
export async function readReceipt(
  relay: Pick<Relay, 'read'>,
  transactionHash: Hex,
): Promise<LedgerReceipt | undefined> {
  const answer = await relay.read('eth_getTransactionReceipt', [transactionHash])
  if (answer === null) return undefined
  const { logs, status, effectiveGasPrice, ...found } = answer as Readonly<Record<string, unknown>>
  if (!Array.isArray(logs)) throw new TypeError('the relay answered no receipt')
  const gasUsed = quantity(found['gasUsed'])
  return {
    transactionHash,
    status: status === '0x1' ? 'success' : 'reverted',
    logs: logs as readonly LedgerLog[],
    gasUsed,
    costWeibar: gasUsed * quantity(effectiveGasPrice),
    blockNumber: quantity(found['blockNumber']),
    contractAddress: found['contractAddress'] as Hex | undefined,
  }
}

/** The nonce that the ledger expects next from an account, without pending transactions. Throws the relay's errors. */
export async function readNonce(relay: Pick<Relay, 'read'>, account: Hex): Promise<number> {
  return Number(quantity(await relay.read('eth_getTransactionCount', [account, 'latest'])))
}
