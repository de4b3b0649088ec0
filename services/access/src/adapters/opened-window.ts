import { accessWindowAbi } from '@tallystick/contracts'
import type { Clock } from '@tallystick/service-kit'
import { parseEventLogs, type TransactionReceipt } from 'viem'
import { type AccessContract, ChainUnavailable } from '../domain/access-contract.ts'
import { type AccessWindow, type Hex, ZERO_ADDRESS } from '../domain/access-window.ts'
import type { PurchaseOrder } from '../domain/contract-sender.ts'
import { ledgerSeconds } from '../domain/ledger-time.ts'

export type OpenedReceipt = {
  readonly receipt: TransactionReceipt
  readonly order: PurchaseOrder
  readonly contract: AccessContract
  readonly clock: Clock
}

/**
 * The window that a successful `openPaid` left behind, from its receipt's events, since reads lag behind receipts. A
 * top-up leaves the window as it was, though cancelled no more, so that there a read supplies what the event does not say.
 */
export async function windowOfReceipt(opened: OpenedReceipt): Promise<{
  readonly transactionHash: Hex
  readonly isTopUp: boolean
  readonly window: AccessWindow
}> {
  const { receipt, order, contract, clock } = opened
  const { transactionHash } = receipt
  const logs = parseEventLogs({ abi: accessWindowAbi, logs: receipt.logs }).filter(
    (log) => log.address.toLowerCase() === contract.address,
  )
  for (const log of logs) {
    if (log.eventName === 'SubscriptionOpened') {
      const offer = (await contract.offers())[log.args.offerId]
      if (offer === undefined) break
      const armed = logs.find((other) => other.eventName === 'RenewalArmed')
      const window: AccessWindow = {
        exists: true,
        isOpen: true,
        isCancelled: false,
        expiresAtSeconds: Number(log.args.expiresAt),
        periodSeconds: offer.periodSeconds,
        priceTinybar: offer.priceTinybar,
        balanceTinybar: log.args.balanceTinybar,
        periodsFunded: Number(log.args.balanceTinybar / offer.priceTinybar),
        callsUsed: order.calls,
        callsAllowed: offer.callsAllowed,
        schedule: armed === undefined ? ZERO_ADDRESS : (armed.args.schedule.toLowerCase() as Hex),
        scheduledAtSeconds: armed === undefined ? 0 : Number(armed.args.scheduledAt),
      }
      return { transactionHash, isTopUp: false, window }
    }
    if (log.eventName === 'SubscriptionToppedUp') {
      const { balanceTinybar } = log.args
      const read = await contract.windowOf(order.agent, ledgerSeconds(clock))
      const periodsFunded = Number(balanceTinybar / read.priceTinybar)
      const window = { ...read, isCancelled: false, balanceTinybar, periodsFunded }
      return { transactionHash, isTopUp: true, window }
    }
  }
  throw new ChainUnavailable('the receipt of a purchase does not say what it opened')
}
