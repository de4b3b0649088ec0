import { facilitatorFaults } from './faults/facilitator-faults.ts'
import { kills } from './faults/kills.ts'
import { ledgerFaults } from './faults/ledger-faults.ts'
import { networkFaults } from './faults/network-faults.ts'
import type { PurchaseFault } from './faults/purchase-fault.ts'
import { sellerFaults } from './faults/seller-faults.ts'

/** What can go wrong while an agent pays, each by its name. */
export const purchaseFaults: readonly PurchaseFault[] = [
  ...facilitatorFaults,
  ...networkFaults,
  ...ledgerFaults,
  ...sellerFaults,
  ...kills,
]
