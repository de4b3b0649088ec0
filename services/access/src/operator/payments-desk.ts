// What the `payments` verbs work with: payTo's log, the contract, and how to find one credit again. The adapters are the
// service's own, so that the command sees what the service sees.

import type { Clock } from '@tallystick/service-kit'
import { BadUsage } from '@tallystick/service-kit/command'
import {
  createMirrorAccountDirectory,
  createMirrorNode,
  type MirrorNode,
  parseTransactionId,
} from '@tallystick/x402/hedera'
import { createReadingClient } from '../adapters/ledger-client.ts'
import { createMirrorPaymentLog } from '../adapters/mirror-payment-log.ts'
import { createViemAccessContract } from '../adapters/viem-access-contract.ts'
import type { AccessContract } from '../domain/access-contract.ts'
import type { PaymentLog, PayToCredit } from '../domain/payment-log.ts'
import { type CreditOutcome, creditOutcome, refundedSince } from './credit-outcome.ts'
import { contractOf, type OperatorConfig, payToOf } from './operator-config.ts'
import { OperatorRefusal } from './operator-verb.ts'

/** A transaction reaches consensus before its validity of at most 180 s ends; the rest is for clocks. */
const CONSENSUS_SECONDS_MAX = 200
/** A fee payer's clock may be ahead of the network's. */
const CONSENSUS_SECONDS_EARLY = 20

export type PaymentsDesk = {
  readonly config: OperatorConfig
  readonly mirror: MirrorNode
  readonly log: PaymentLog
  readonly contract: AccessContract
  readonly clock: Clock
}

/** A credit with what became of it. */
export type JudgedCredit = { readonly credit: PayToCredit; readonly outcome: CreditOutcome }

/** Opens mirror node and contract. Nothing is read yet. */
export function openPaymentsDesk(config: OperatorConfig, clock: Clock): PaymentsDesk {
  const mirror = createMirrorNode({ url: config.MIRROR_URL, clock })
  const accounts = createMirrorAccountDirectory({ mirror, clock })
  const client = createReadingClient(config.LEDGER_RPC_URL)
  return {
    config,
    clock,
    mirror,
    log: createMirrorPaymentLog({ mirror, accounts, payTo: payToOf(config) }),
    contract: createViemAccessContract({
      client,
      chainId: config.LEDGER_CHAIN_ID,
      address: contractOf(config),
    }),
  }
}

/** What became of a credit, read anew. */
export async function judge(desk: PaymentsDesk, credit: PayToCredit): Promise<JudgedCredit> {
  const refunded = await refundedSince(desk.log, credit.consensusTimestamp)
  const { contract, log } = desk
  const periodsPerPurchase = desk.config.PERIODS_PER_PURCHASE
  const facts = { contract, log, periodsPerPurchase, refunded }
  return { credit, outcome: await creditOutcome(facts, credit) }
}

/** The credit with that transaction id, in either spelling. Throws BadUsage for no id, OperatorRefusal where payTo has none. */
export async function findCredit(
  desk: PaymentsDesk,
  text: string | undefined,
): Promise<PayToCredit> {
  const id = text === undefined ? undefined : parseTransactionId(text)
  if (id === undefined) {
    throw new BadUsage('Say which payment: a transaction id such as 0.0.1002@1763600000.000000001.')
  }
  const start = Number(id.validStartSeconds)
  const after = `${Math.max(0, start - CONSENSUS_SECONDS_EARLY)}.000000000`
  for await (const credit of desk.log.creditsAfter(after)) {
    const found = parseTransactionId(credit.transactionId)
    if (
      found?.accountId === id.accountId &&
      found.validStartSeconds === id.validStartSeconds &&
      found.validStartNanos === id.validStartNanos
    ) {
      return credit
    }
    if (credit.consensusSeconds > start + CONSENSUS_SECONDS_MAX) break
  }
  throw new OperatorRefusal(`${payToOf(desk.config)} was not credited by that transaction.`)
}
