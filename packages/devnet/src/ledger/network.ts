import type { Address } from 'viem'

/** Chain id of Hedera testnet, also used by viem's `hederaTestnet`. */
export const CHAIN_ID = 296 as const

/** Gas that one transaction may use (HIP-185 and the network's configuration). */
export const TRANSACTION_GAS_MAX = 15_000_000

/** Gas of a block, as the relay shows it in headers. */
export const BLOCK_GAS_MAX = 150_000_000

/** Default gas price, tinybar: testnet's in autumn 2026. */
export const GAS_PRICE_TINYBAR_DEFAULT = 109n

/** Gas of a `scheduleCall` at that price. It is priced in dollars, so where gas is cheaper it takes more gas. */
export const CREATE_GAS_DEFAULT = 1_410_000n

/** Entities up to this number are the network's own, and accept no value from EVM transactions. */
export const SYSTEM_ACCOUNT_NUMBER_MAX = 750

/** Receives what the network earns: 0.0.98, which is also the EVM's coinbase. */
export const FEE_COLLECTOR: { number: number; id: string; address: Address } = {
  number: 98,
  id: '0.0.98',
  address: '0x0000000000000000000000000000000000000062',
}

/** The relay's account, which submits EVM transactions for others and is the payer of their transaction ids. */
export const RELAY_ACCOUNT = { number: 902, id: '0.0.902' }

/** The account that funds new accounts: the network's treasury, 0.0.2. */
export const TREASURY = { number: 2, id: '0.0.2' }

/** Consensus nodes that accept transactions at the one gRPC address; `0.0.3` is the one to name. */
export const NODE_ACCOUNT_NUMBERS: readonly number[] = [3, 4]

/** Address of the exchange-rate system contract (HIP-475). */
export const EXCHANGE_RATE_ADDRESS: Address = '0x0000000000000000000000000000000000000168'

/** `hbar` HBAR are worth `cents` US cents, the form in which the network keeps its rate. */
export type ExchangeRate = { hbar: number; cents: number }

/** The contract's own default: 7.82 cents, at which gas costs the 109 tinybar that the ledger charges. */
export const EXCHANGE_RATE_DEFAULT: ExchangeRate = { hbar: 30_000, cents: 234_500 }

/** How long a rate is valid, seconds: the network sets it hourly, on the hour. */
export const RATE_SECONDS = 3_600

/** Tinybar that a price in tinycents (1e-8 US cent) costs at that rate, rounded down. */
export function tinycentsToTinybar(tinycents: bigint, rate: ExchangeRate): bigint {
  return (tinycents * BigInt(rate.hbar)) / BigInt(rate.cents)
}
