// What consensus makes of an Ethereum transaction, whichever way it came: through the JSON-RPC edge, or as an
// EthereumTransaction through gRPC.

import { type Hex, zeroAddress } from 'viem'
import { AnvilRefused, isFundsRefusal } from '../anvil/anvil-client.ts'
import type { Entity } from './account-registry.ts'
import { runEvmTransaction, WEIBAR_PER_TINYBAR } from './evm-transaction.ts'
import type { Ledger } from './ledger.ts'
import { CHAIN_ID, TRANSACTION_GAS_MAX } from './network.ts'
import type { ParsedTransaction } from './parse-raw-transaction.ts'
import type { Submission } from './records.ts'
import type { Status } from './signed-transaction.ts'
import type { EvmTransaction } from './transaction-index.ts'

type Verdict =
  | { kind: 'executed'; transaction: EvmTransaction }
  /** It never ran, and its nonce was not used. */
  | {
      kind: 'refused'
      status: Status
      nonces: { provided: number; current: number }
    }

/** How an EthereumTransaction came, and what its payer adds to what the sender offers for gas, at most. */
type Arrival = { submission: Submission; payer: Entity; gasAllowanceTinybar: bigint }

/** Runs a transaction, or says why it never runs. The caller holds the queue. */
export async function takeEthereumTransaction(
  ledger: Ledger,
  { envelope, from, hash }: ParsedTransaction,
  arrival?: Arrival,
): Promise<Verdict> {
  const count = (await ledger.anvil.call('eth_getTransactionCount', [from, 'pending'])) as Hex
  const nonces = { provided: envelope.nonce, current: Number(count) }
  const refused = (status: Status): Verdict => ({ kind: 'refused', status, nonces })
  // Unprotected legacy transactions carry no chain id.
  if (envelope.chainId !== undefined && envelope.chainId !== CHAIN_ID) {
    return refused('WRONG_CHAIN_ID')
  }
  if (ledger.accounts.byAddress(from) === undefined) return refused('INVALID_ACCOUNT_ID')
  if (nonces.provided !== nonces.current) return refused('WRONG_NONCE')
  const offeredWeibar = envelope.gasPriceWeibar ?? envelope.maxFeePerGasWeibar ?? 0n
  const senderPriceTinybar = offeredWeibar / WEIBAR_PER_TINYBAR
  const missing = ledger.settings.gasPriceTinybar - senderPriceTinybar
  if (missing > 0n) {
    const addedMax = missing * envelope.gas
    if (addedMax > (arrival?.gasAllowanceTinybar ?? 0n)) return refused('INSUFFICIENT_TX_FEE')
    const payer = arrival?.payer.address ?? from
    const [balance = 0n] = await ledger.evm.balances([payer])
    // A sender who sponsors itself needs both parts, and what it gives away.
    const own =
      payer === from
        ? senderPriceTinybar * envelope.gas + envelope.valueWeibar / WEIBAR_PER_TINYBAR
        : 0n
    if (balance < own + addedMax) return refused('INSUFFICIENT_PAYER_BALANCE')
  }
  if (envelope.gas > BigInt(TRANSACTION_GAS_MAX)) return refused('MAX_GAS_LIMIT_EXCEEDED')
  if (envelope.valueWeibar > 0n && envelope.to === zeroAddress) {
    return refused('INVALID_SOLIDITY_ADDRESS')
  }
  try {
    const sponsor =
      arrival !== undefined && missing > 0n
        ? { payer: arrival.payer, senderPriceTinybar }
        : undefined
    const { submission } = arrival ?? {}
    const request = { hash, from, envelope, submission, sponsor }
    const transaction = await runEvmTransaction(ledger, request)
    return { kind: 'executed', transaction }
  } catch (cause) {
    if (!(cause instanceof AnvilRefused)) throw cause
    return refused(isFundsRefusal(cause) ? 'INSUFFICIENT_PAYER_BALANCE' : 'INSUFFICIENT_GAS')
  }
}
