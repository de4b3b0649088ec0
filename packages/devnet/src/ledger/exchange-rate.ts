import { exchangeRateRuntimeCode } from '@tallystick/contracts'
import type { Address } from 'viem'
import type { AnvilClient } from '../anvil/anvil-client.ts'

/** Address of the exchange-rate system contract (HIP-475). */
export const EXCHANGE_RATE_ADDRESS: Address = '0x0000000000000000000000000000000000000168'

/** `hbar` HBAR are worth `cents` US cents: the form in which the network keeps its rate. */
export type ExchangeRate = { hbar: number; cents: number }

/** Places the contract at its address. */
export async function installExchangeRate(anvil: AnvilClient): Promise<void> {
  await anvil.call('anvil_setCode', [EXCHANGE_RATE_ADDRESS, exchangeRateRuntimeCode])
}

/** The contract's own default: 7.82 cents, at which gas costs the 109 tinybar that the ledger charges. */
export const EXCHANGE_RATE_DEFAULT: ExchangeRate = { hbar: 30_000, cents: 234_500 }

/** Tinybar that a price in tinycents (1e-8 US cent) costs at that rate, rounded down. */
export function tinycentsToTinybar(tinycents: bigint, rate: ExchangeRate): bigint {
  return (tinycents * BigInt(rate.hbar)) / BigInt(rate.cents)
}
