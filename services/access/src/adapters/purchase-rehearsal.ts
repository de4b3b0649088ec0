import { accessWindowAbi } from '@tallystick/contracts'
import type { PublicClient } from 'viem'
import type { Hex } from '../domain/access-window.ts'
import type { PurchaseOrder, Rehearsal } from '../domain/contract-sender.ts'
import { WEIBAR_PER_TINYBAR } from './hedera-units.ts'
import { revertName } from './viem-errors.ts'

/** `openPaid` with arming uses up to 1.62 M gas; estimates are wrong for calls that schedule. Only what is used is charged. */
export const OPEN_GAS = 2_000_000n

export type RehearsalStage = {
  readonly client: PublicClient
  readonly contract: Hex
  /** The sender: payTo's EVM address. */
  readonly payTo: Hex
  readonly gasPriceWeibar: bigint
}

/** The call's argument, as the contract takes it. */
export function purchaseArgument(order: PurchaseOrder) {
  return {
    agent: order.agent,
    offerId: order.offerId,
    paidAtSeconds: BigInt(order.paidAtSeconds),
    calls: order.calls,
    paymentReference: order.paymentReference,
  }
}

/** Gas of one forward at a price, tinybar: what must be held, not what is charged. */
export function forwardGas(gasPriceWeibar: bigint): bigint {
  return (OPEN_GAS * gasPriceWeibar) / WEIBAR_PER_TINYBAR
}

/** Runs `openPaid` with its value without sending it (A3). Throws viem's error where the ledger does not answer. */
export async function rehearsePurchase(
  stage: RehearsalStage,
  order: PurchaseOrder,
): Promise<Rehearsal> {
  const { client, contract, payTo, gasPriceWeibar } = stage
  const balance = (await client.getBalance({ address: payTo })) / WEIBAR_PER_TINYBAR
  // Asked first: a node that checks the balance refuses the call itself, in words of its own.
  if (balance < order.valueTinybar + forwardGas(gasPriceWeibar)) return { kind: 'float-low' }
  try {
    await client.simulateContract({
      account: payTo,
      address: contract,
      abi: accessWindowAbi,
      functionName: 'openPaid',
      args: [purchaseArgument(order)],
      value: order.valueTinybar * WEIBAR_PER_TINYBAR,
      gas: OPEN_GAS,
    })
    return { kind: 'ready' }
  } catch (error) {
    const name = revertName(error)
    if (name === 'AccessWindow_PaymentAlreadyUsed') return { kind: 'already-used' }
    if (name !== undefined) return { kind: 'refused', reason: name }
    throw error
  }
}
