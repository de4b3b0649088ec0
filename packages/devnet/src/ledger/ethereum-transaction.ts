// What consensus makes of an Ethereum transaction, whichever way it came: through the JSON-RPC edge, or as an
// EthereumTransaction through gRPC.

import { type Hex, zeroAddress } from 'viem'
import { AnvilRefused, isFundsRefusal } from '../anvil/anvil-client.ts'
import type { Status } from '../consensus/signed-transaction.ts'
import { type EvmTransaction, runEvmTransaction, WEIBAR_PER_TINYBAR } from './evm-transaction.ts'
import type { Ledger } from './ledger.ts'
import { CHAIN_ID, TRANSACTION_GAS_MAX } from './network.ts'
import type { ParsedTransaction } from './parse-raw-transaction.ts'
import type { Submission } from './records.ts'

type Verdict =
  | { kind: 'executed'; transaction: EvmTransaction }
  /** It never ran, and its nonce was not used. */
  | {
      kind: 'refused'
      status: Status
      nonces: { provided: number; current: number }
    }

/** Runs a transaction, or says why it never runs. `submission` is that of its EthereumTransaction. The caller holds the queue. */
export async function takeEthereumTransaction(
  ledger: Ledger,
  { envelope, from, hash }: ParsedTransaction,
  submission?: Submission,
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
  if (offeredWeibar / WEIBAR_PER_TINYBAR < ledger.settings.gasPriceTinybar) {
    return refused('INSUFFICIENT_TX_FEE')
  }
  if (envelope.gas > BigInt(TRANSACTION_GAS_MAX)) return refused('MAX_GAS_LIMIT_EXCEEDED')
  if (envelope.valueWeibar > 0n && envelope.to === zeroAddress) {
    return refused('INVALID_SOLIDITY_ADDRESS')
  }
  try {
    const transaction = await runEvmTransaction(ledger, { hash, from, envelope, submission })
    return { kind: 'executed', transaction }
  } catch (cause) {
    if (!(cause instanceof AnvilRefused)) throw cause
    return refused(isFundsRefusal(cause) ? 'INSUFFICIENT_PAYER_BALANCE' : 'INSUFFICIENT_GAS')
  }
}
