import type { Clock } from '@tallystick/service-kit'
import type {
  Facilitator,
  FacilitatorRoutes,
  FeePayerDirectory,
  PaymentScheme,
} from '@tallystick/x402'
import type { AccountDirectory } from '@tallystick/x402/hedera'
import type { UsageRecorder } from '../metering/usage-recorder.ts'
import type { AccessContract, ContractSender } from './access-contract.ts'
import type { AlertWebhook, ReportAccessEvent } from './access-events.ts'
import type { Hex } from './access-window.ts'
import type { AgentHistory } from './agent-history.ts'
import type { PaymentLog } from './payment-log.ts'
import type { RelayBudget } from './relay-budget.ts'
import type { SellerHistory } from './seller-account.ts'
import type { Subscriptions } from './subscriptions.ts'

/** The service reaches these over a network. */
export type AccessPorts = {
  readonly contract: AccessContract
  readonly sender: ContractSender
  readonly log: PaymentLog
  readonly usage: UsageRecorder
  readonly resource: PaidResourceReader
  readonly scheme: PaymentScheme
  readonly facilitator: Facilitator | FacilitatorRoutes
  readonly feePayers: Omit<FeePayerDirectory, 'firstAttempt'>
  readonly accounts: AgentAccounts
  /** EVM address of the account that records usage. */
  readonly recorder: Hex
  /** For calls to the relay. */
  readonly budget: RelayBudget
  /** Reads what the recorder's account holds, and what a full batch needs. */
  recorderGas(): Promise<{ readonly balanceTinybar: bigint; readonly neededTinybar: bigint }>
  /** Tells what the seller earned and spent; none before a contract is deployed. */
  readonly sellerHistory?: SellerHistory | undefined
  /** Tells what happened to agents; none before a contract is deployed. */
  readonly agentHistory?: AgentHistory | undefined
  readonly alertWebhook?: AlertWebhook | undefined
}

/** Every part of the domain may use these. */
export type AccessParts = AccessPorts & {
  readonly subscriptions: Subscriptions
  readonly clock: Clock
  readonly report: ReportAccessEvent
  /** CAIP-2. */
  readonly network: string
  /** `0.0.x`. */
  readonly payTo: string
  readonly periodsPerPurchase: number
}

/** The accounts behind agents, as the mirror node shows them now. Throws x402's LedgerUnavailable. */
export type AgentAccounts = Pick<AccountDirectory, 'account' | 'refresh'>

/** Reads what a granted call receives: any JSON. Nothing is metered, and no payment is settled, while it cannot be read. */
export type PaidResourceReader = {
  /** Throws ResourceUnavailable. */
  read(): Promise<unknown>
  /** Begins the next read if calls share it, so that it leaves together with the read of a window. */
  warm?(): void
}

/** The resource's source did not answer in time, or answered too much, or no JSON. */
export class ResourceUnavailable extends Error {
  override readonly name = 'ResourceUnavailable'
}
