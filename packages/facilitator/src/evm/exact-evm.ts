/**
 * Scheme `exact` on an EVM chain, facilitator side (X12): verifies by the gate's rules, submits a signed transfer
 * (EIP-3009), and trusts only the token's events and the nonce's state.
 */
import { type BackOffLimits, type Clock, retry } from '@tallystick/service-kit'
import { LedgerUnavailable, type VerifiedPayment } from '@tallystick/x402'
import {
  type EvmAsset,
  type EvmLedger,
  type EvmPayload,
  type EvmReceipt,
  findAsset,
  type Hex,
  isPaidBy,
  isSignedByKey,
  readEcdsaSignature,
  readEvmPayload,
  verifyEvmPayment,
} from '@tallystick/x402/evm'
import { bytesToHex, encodeFunctionData, parseAbi } from 'viem'
import {
  createExactFacilitator,
  type ExactFacilitator,
  type FacilitatorLimits,
  type Order,
  type SettlementEnd,
} from '../settlement.ts'
import { type ContractPayers, createContractPayers } from './contract-payers.ts'
import type { ContractCall, EvmWallet, Simulation } from './evm-wallet.ts'

type ExactEvmOptions = FacilitatorLimits & {
  /** CAIP-2, e.g. `eip155:196`. */
  readonly network: string
  /** The tokens it settles, all on that network. */
  readonly assets: readonly EvmAsset[]
  readonly wallet: EvmWallet
  readonly ledger: EvmLedger
  readonly clock: Clock
  /** Longest wait for a receipt. */
  readonly outcomeMs?: number | undefined
  /** Whether contracts may pay (EIP-1271); by default they may. */
  readonly contractWallets?: boolean | undefined
}

/** X Layer makes a block every second or faster; on a busy chain a transaction waits for a few blocks. */
const OUTCOME_MS = 20_000

/** Pauses between two checks for a receipt: a block may come at once, and takes about a second. */
const POLL: BackOffLimits = { firstMs: 10, maxMs: 1_000 }

/** Another transaction, ours or a stranger's, used the nonce: only the ledger's events say what for. */
export const NONCE_USED: SettlementEnd = {
  outcome: 'duplicate',
  reason: 'invalid_exact_evm_nonce_already_used',
}

/** Builds the facilitator side of `exact` on one EVM chain. */
export function createExactEvm(options: ExactEvmOptions): ExactFacilitator {
  const { assets, clock, contractWallets, ledger, network, wallet } = options
  const contractPayers = createContractPayers(clock)
  return createExactFacilitator(
    {
      network,
      caipFamily: 'eip155:*',
      signer: wallet.address,
      expired: 'invalid_exact_evm_payload_authorization_valid_before',
      async verify(payload, requirement) {
        const nowSeconds = Math.floor(clock.unixMs() / 1_000)
        const context = { assets, ledger, nowSeconds, contractWallets }
        return await verifyEvmPayment(payload, requirement, context)
      },
      order: (payment, payload) => makeOrder({ ...options, contractPayers }, payment, payload),
    },
    options,
  )
}

type OrderParts = ExactEvmOptions & { readonly contractPayers: ContractPayers }

function makeOrder(options: OrderParts, payment: VerifiedPayment, payload: unknown): Order {
  const asset = findAsset(options.assets, payment)
  const read = readEvmPayload(payload)
  if (asset === undefined || read === undefined) throw new Error('the payload was not verified')
  const isByKey = isSignedByKey(asset, read)
  const call = { ...transferCall(asset, read), isByKey }
  const { contractPayers } = options
  const { amount, payTo, validFromSeconds, validUntilSeconds } = payment
  return {
    // Without the signature: one authorization can have several spellings of it, but pays once.
    terms: JSON.stringify([payTo, String(amount), validFromSeconds, validUntilSeconds]),
    duplicate: NONCE_USED,
    async preflight() {
      const checked = await preflight(options, payment, call)
      return 'gas' in checked ? undefined : checked
    },
    async submit() {
      const checked = await preflight(options, payment, call)
      if (!('gas' in checked)) return checked
      if (!isByKey) contractPayers.begin(payment)
      try {
        const { cause, hash } = await options.wallet.send({ ...call, ...checked })
        return { hash, transaction: hash, cause }
      } catch (error) {
        contractPayers.end(payment)
        throw error
      }
    },
    // A second transaction costs gas, and reverts if the first one arrived.
    isRepeatable: false,
    async conclude([hash]) {
      const end = await conclude(options, payment, hash as Hex)
      if (!isByKey) contractPayers.end(payment, end)
      return end
    },
  }
}

/** A failure that is certain on the chain and would waste our gas; otherwise the gas that the call needs. */
async function preflight(
  { contractPayers, ledger, wallet }: OrderParts,
  payment: VerifiedPayment,
  call: ContractCall & { readonly isByKey: boolean },
): Promise<SettlementEnd | Extract<Simulation, { kind: 'succeeds' }>> {
  const { amount, asset, payer } = payment
  if (!call.isByKey && contractPayers.hasReverted(payer))
    return { outcome: 'refused', reason: 'invalid_exact_evm_contract_wallet_reverted' }
  const [isUsed, balance, simulation] = await Promise.all([
    ledger.isAuthorizationUsed(payment),
    ledger.balanceOf(asset, payer),
    call.isByKey ? wallet.simulate(call) : wallet.rehearse(call),
  ])
  if (isUsed) return NONCE_USED
  if (balance < amount) {
    return { outcome: 'refused', reason: 'invalid_exact_evm_insufficient_balance' }
  }
  if (simulation.kind === 'succeeds') return simulation
  if (simulation.kind === 'too-much-gas') {
    return { outcome: 'refused', reason: 'invalid_exact_evm_gas_too_high' }
  }
  // Somebody may have used it between the two answers.
  if (await ledger.isAuthorizationUsed(payment)) return NONCE_USED
  const reason = 'invalid_exact_evm_transaction_simulation_failed'
  return { outcome: 'refused', reason, message: simulation.reason }
}

const isTransient = (error: unknown): boolean => error instanceof LedgerUnavailable

/** Checks for the receipt until there is one or time is up, even after the node failed. */
async function conclude(
  { clock, ledger, outcomeMs = OUTCOME_MS }: ExactEvmOptions,
  payment: VerifiedPayment,
  transaction: Hex,
): Promise<SettlementEnd> {
  const end = await retry({ ...POLL, clock, limitMs: outcomeMs, isTransient }, async () => {
    const receipt = await ledger.receipt(transaction)
    return receipt && (await judgeReceipt(ledger, payment, receipt))
  })
  if (end.kind === 'done') return end.value
  return { outcome: 'pending', reason: 'settlement_pending', transaction, cause: end.cause }
}

/**
 * Judges a mined transaction by the token's own events and the nonce's state in its block: a token that does not revert
 * on a used nonce would report success without moving anything.
 */
async function judgeReceipt(
  ledger: EvmLedger,
  payment: VerifiedPayment,
  receipt: EvmReceipt,
): Promise<SettlementEnd> {
  const { isSuccess, logs, transaction } = receipt
  if (await ledger.isAuthorizationUsed(payment, receipt.blockNumber)) {
    return isSuccess && isPaidBy(logs, payment)
      ? { outcome: 'settled', reason: '', transaction }
      : NONCE_USED
  }
  return (await ledger.balanceOf(payment.asset, payment.payer)) >= payment.amount
    ? { outcome: 'failed', reason: 'transaction_failed', transaction, hasReverted: true }
    : // Meanwhile the money went elsewhere. None of our transactions is still on its way.
      {
        outcome: 'refused',
        reason: 'invalid_exact_evm_insufficient_balance',
        hasReverted: true,
      }
}

const abi = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
])

/**
 * The call that submits a signed transfer. An ordinary signature is passed in its three parts, with v 27 or 28, a form
 * that every token with signed transfers accepts; a contract wallet's signature is passed as a single `bytes`.
 */
export function transferCall(
  asset: EvmAsset,
  { authorization, signature }: EvmPayload,
): ContractCall {
  const { from, nonce, to, validAfter, validBefore, value } = authorization
  const head = [from, to, value, validAfter, validBefore, nonce] as const
  const functionName = 'transferWithAuthorization'
  const ecdsa = readEcdsaSignature(signature)
  if (ecdsa === undefined || !isSignedByKey(asset, { authorization, signature })) {
    const args = [...head, bytesToHex(signature)] as const
    return { to: asset.address, data: encodeFunctionData({ abi, functionName, args }) }
  }
  const r = bytesToHex(ecdsa.rs.subarray(0, 32))
  const s = bytesToHex(ecdsa.rs.subarray(32))
  const args = [...head, 27 + ecdsa.recovery, r, s] as const
  return { to: asset.address, data: encodeFunctionData({ abi, functionName, args }) }
}
