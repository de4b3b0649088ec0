/**
 * A test's agent and what the ledger itself knows about it: which of its payments landed, what it spent, what the contract
 * took for it. Nothing here asks the service, so that the service can be judged by it.
 */
import { accessWindowAbi } from '@tallystick/contracts'
import type { DevnetAccount } from '@tallystick/devnet'
import {
  canonicalTransactionId,
  ExactHederaClient,
  hederaSigner,
  mirrorTransactionId,
  type PaymentReference,
  parseTransactionId,
  paymentReference,
  readTransfer,
} from '@tallystick/x402/hedera'
import type { PaymentRequirements } from '@x402/core/types'
import { createPublicClient, http, type PublicClient } from 'viem'
import { WEIBAR_PER_TINYBAR } from '../adapters/ledger-facts.ts'
import type { LocalStack } from './local-stack.ts'

/** An agent's first balance: four purchases at the default price. */
const FUNDS_TINYBAR = 5_000_000_000n

export type SignedPayment = {
  /** Value of `PAYMENT-SIGNATURE`. */
  readonly header: string
  readonly transactionId: string
  readonly reference: PaymentReference['hash']
  readonly amountTinybar: bigint
}

type LedgerView = {
  /** Payments of the agent that the ledger executed, oldest first. */
  readonly landed: readonly SignedPayment[]
  readonly spentTinybar: bigint
  /** What the contract took for the agent, by payment reference. */
  readonly taken: ReadonlyMap<string, bigint>
  readonly hasAccess: boolean
}

export type PayingAgent = {
  readonly address: `0x${string}`
  /** Payments signed so far, oldest first. */
  readonly signed: readonly SignedPayment[]
  /** Signs the payment that a 402's body asks for, by ledger time. */
  sign(challenge: unknown): Promise<SignedPayment>
  /** The real ledger, whatever a fault makes reads show. */
  ledger(): Promise<LedgerView>
}

type PayingAgentOptions = {
  readonly name: string
  /** Whether the agent's memo names it; official clients leave it empty. */
  readonly hasMemo: boolean
  /** First balance, tinybar; that of four purchases unless stated. */
  readonly fundsTinybar?: bigint
}

export async function createPayingAgent(
  stack: LocalStack,
  { name, hasMemo, fundsTinybar = FUNDS_TINYBAR }: PayingAgentOptions,
): Promise<PayingAgent> {
  const account = await stack.devnet.createAccount({ name, balanceTinybar: fundsTinybar })
  const client = createPublicClient({ transport: http(stack.devnet.rpcUrl) })
  const fromBlock = await client.getBlockNumber()
  const scheme = new ExactHederaClient({
    signer: hederaSigner(account),
    clock: stack.devnet.clock,
    ...(hasMemo ? { memo: `x402:${account.evmAddress}` } : {}),
  })
  const signed: SignedPayment[] = []
  return {
    address: account.evmAddress,
    signed,
    async sign(challenge) {
      const { accepts, resource } = challenge as {
        readonly accepts: readonly PaymentRequirements[]
        readonly resource: object
      }
      const [accepted] = accepts
      if (accepted === undefined) throw new Error('the challenge asks for nothing')
      const { payload } = await scheme.createPaymentPayload(2, accepted)
      const envelope = { x402Version: 2, accepted, resource, payload }
      const transactionId = readTransactionId(String(payload['transaction']))
      const payment = {
        header: Buffer.from(JSON.stringify(envelope)).toString('base64'),
        transactionId,
        reference: paymentReference(transactionId).hash,
        amountTinybar: BigInt(accepted.amount),
      }
      signed.push(payment)
      return payment
    },
    ledger: () => readLedger(stack, { account, client, fromBlock, fundsTinybar }, signed),
  }
}

function readTransactionId(base64: string): string {
  const reading = readTransfer(Buffer.from(base64, 'base64'))
  if (reading.kind !== 'transfer') throw new Error('a payment of ours cannot be read')
  return canonicalTransactionId(reading.transfer.transactionId)
}

type Place = {
  readonly account: DevnetAccount
  readonly client: PublicClient
  /** The agent did nothing before this block. */
  readonly fromBlock: bigint
  readonly fundsTinybar: bigint
}

async function readLedger(
  stack: LocalStack,
  { account, client, fromBlock, fundsTinybar }: Place,
  signed: readonly SignedPayment[],
): Promise<LedgerView> {
  const { devnet, contract } = stack
  const [balance, consumed, hasAccess, isLanded] = await Promise.all([
    client.getBalance({ address: account.evmAddress }),
    client.getContractEvents({
      abi: accessWindowAbi,
      address: contract,
      eventName: 'PaymentConsumed',
      args: { agent: account.evmAddress },
      fromBlock,
    }),
    client.readContract({
      abi: accessWindowAbi,
      address: contract,
      functionName: 'hasAccess',
      args: [account.evmAddress, BigInt(devnet.nowSeconds())],
    }),
    Promise.all(signed.map(({ transactionId }) => hasLanded(devnet.mirrorUrl, transactionId))),
  ])
  return {
    landed: signed.filter((_payment, index) => isLanded[index]),
    spentTinybar: fundsTinybar - balance / WEIBAR_PER_TINYBAR,
    taken: new Map(
      consumed.map(({ args }) => [String(args.paymentReference), args.valueTinybar ?? 0n]),
    ),
    hasAccess,
  }
}

async function hasLanded(mirrorUrl: string, transactionId: string): Promise<boolean> {
  const id = parseTransactionId(transactionId)
  if (id === undefined) throw new Error('unreachable')
  const answer = await fetch(`${mirrorUrl}/api/v1/transactions/${mirrorTransactionId(id)}`)
  if (answer.status === 404) return false
  const { transactions } = (await answer.json()) as { transactions: { result: string }[] }
  return transactions.some(({ result }) => result === 'SUCCESS')
}
