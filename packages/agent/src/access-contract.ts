import { accessWindowAbi } from '@tallystick/contracts'
import { type Address, encodeFunctionData, type Hex, parseEventLogs } from 'viem'
import { type ContractCallOptions, createContractCaller } from './contract-call.ts'

/** Cancelling deletes the schedule: 119,000 gas measured on testnet, with room. */
const CANCEL_GAS = 400_000n
/** A transfer out, and the creation of an account that the network has not seen yet (0.8 M). */
const CLAIM_GAS = 1_000_000n
/** A top-up may arm a renewal where none is: 1.41 M gas for the schedule service. */
const TOP_UP_GAS = 2_000_000n

/** What came of one transaction; `refused` names the contract's error, e.g. `AccessWindow_NoOpenWindow`. */
export type ContractOutcome<Done> =
  | ({ readonly kind: 'done'; readonly transaction: Hex } & Done)
  | { readonly kind: 'refused'; readonly errorName: string }

/** What an agent itself signs on the access contract. Amounts in tinybar. Throws LedgerUnavailable. */
export type AccessContract = {
  /** Ends renewals; what is left becomes claimable. */
  cancel(): Promise<ContractOutcome<{ readonly refundTinybar: bigint }>>
  /** Sends the claimable refund to the agent's own account. `isCertain` after a `cancel` that left one. */
  claimRefund(options?: {
    readonly isCertain: boolean
  }): Promise<ContractOutcome<{ readonly amountTinybar: bigint }>>
  topUp(options: {
    readonly agent: Address
    readonly amountTinybar: bigint
  }): Promise<ContractOutcome<{ readonly balanceTinybar: bigint }>>
}

/** The access contract as its agent uses it. */
export function createAccessContract(options: ContractCallOptions): AccessContract {
  const send = createContractCaller(options)
  const abi = accessWindowAbi
  return {
    async cancel() {
      const data = encodeFunctionData({ abi, functionName: 'cancel' })
      const sent = await send({ data, valueTinybar: 0n, gas: CANCEL_GAS })
      if (sent.kind === 'refused') return sent
      const { logs, transactionHash: transaction } = sent.receipt
      const [event] = parseEventLogs({ abi, logs, eventName: 'SubscriptionCancelled' })
      return { kind: 'done', transaction, refundTinybar: event?.args.refundTinybar ?? 0n }
    },
    async claimRefund({ isCertain } = { isCertain: false }) {
      const args = [options.account.address] as const
      const data = encodeFunctionData({ abi, functionName: 'claimRefund', args })
      const sent = await send({ data, valueTinybar: 0n, gas: CLAIM_GAS, isCertain })
      if (sent.kind === 'refused') return sent
      const { logs, transactionHash: transaction } = sent.receipt
      const [event] = parseEventLogs({ abi, logs, eventName: 'RefundClaimed' })
      return { kind: 'done', transaction, amountTinybar: event?.args.amountTinybar ?? 0n }
    },
    async topUp({ agent, amountTinybar }) {
      const data = encodeFunctionData({ abi, functionName: 'topUp', args: [agent] })
      const sent = await send({ data, valueTinybar: amountTinybar, gas: TOP_UP_GAS })
      if (sent.kind === 'refused') return sent
      const { logs, transactionHash: transaction } = sent.receipt
      const [event] = parseEventLogs({ abi, logs, eventName: 'SubscriptionToppedUp' })
      return { kind: 'done', transaction, balanceTinybar: event?.args.balanceTinybar ?? 0n }
    },
  }
}
