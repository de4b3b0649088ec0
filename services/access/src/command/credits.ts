// The `payments` verbs work with these: payTo's credits, what became of each, and how to find one. The adapters are the
// service's own, so that the command sees what the service sees.
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '@tallystick/service-kit'
import { BadUsage } from '@tallystick/service-kit/command'
import {
  createMirrorAccountDirectory,
  createMirrorNode,
  PAYMENT_OVER_SECONDS,
  parseTransactionId,
} from '@tallystick/x402/hedera'
import { createAccessContractReader } from '../adapters/access-contract-reader.ts'
import { createMirrorPaymentLog } from '../adapters/mirror-payment-log.ts'
import { createRelay } from '../adapters/relay.ts'
import { afterPreviousContracts } from '../domain/access-contract.ts'
import type { Hex } from '../domain/access-window.ts'
import type { PaymentLog, PayToCredit } from '../domain/payment-log.ts'
import {
  type CreditJudge,
  type CreditJudgement,
  judgeCredit,
} from '../domain/unresolved-credits.ts'
import { needed, type OperatorCall, type OperatorConfig, OperatorRefusal } from './operator-verb.ts'

/** A credit to payTo ended in one of these ways (A15). */
export type CreditOutcome =
  | Exclude<CreditJudgement, { readonly kind: 'opened' }>
  /** The contract knows it. `isRefundedToo`: payTo also paid it back, which this command never does. */
  | { readonly kind: 'opened'; readonly agent: Hex; readonly isRefundedToo: boolean }
  /** payTo paid it back: it is never opened, and never paid back again. */
  | { readonly kind: 'refunded' }

/**
 * Decides by the same rules as the service's sweep; `refunded` are transactions that payTo paid back. Throws
 * ChainUnavailable, ContractAbsent or LedgerUnavailable.
 */
export async function creditOutcome(
  { refunded, ...facts }: CreditJudge & { readonly refunded: ReadonlySet<string> },
  credit: PayToCredit,
): Promise<CreditOutcome> {
  const isRefunded = refunded.has(credit.transactionId)
  const consumed = await facts.contract.findPayment(credit.paymentReference)
  if (consumed.isUsed) return { kind: 'opened', agent: consumed.agent, isRefundedToo: isRefunded }
  if (isRefunded) return { kind: 'refunded' }
  const judged = await judgeCredit(facts, credit)
  return judged.kind === 'opened' ? { ...judged, isRefundedToo: false } : judged
}

/** Transaction ids that payTo paid back since a consensus timestamp. Throws LedgerUnavailable. */
export async function refundedSince(
  log: PaymentLog,
  consensusTimestamp: string,
): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  for await (const debit of log.debitsAfter(consensusTimestamp)) {
    if (debit.refundedPayment !== undefined) ids.add(debit.refundedPayment)
  }
  return ids
}

/** A fee payer's clock may be ahead of the network's. */
const CONSENSUS_SECONDS_EARLY = 20

type PaymentsView = ReturnType<typeof openPayments>

/** Opens mirror node and contract. Nothing is read yet. */
export function openPayments(config: OperatorConfig, clock: Clock) {
  const mirror = createMirrorNode({ url: config.MIRROR_URL, clock })
  const accounts = createMirrorAccountDirectory({ mirror, clock })
  const relay = createRelay({ url: config.LEDGER_RPC_URL, clock })
  const contractAt = (address: Hex) =>
    createAccessContractReader({ relay, clock, chainId: config.LEDGER_CHAIN_ID, address })
  return {
    mirror,
    payTo: needed(config, 'PAY_TO'),
    periodsPerPurchase: config.PERIODS_PER_PURCHASE,
    log: createMirrorPaymentLog({ mirror, accounts, payTo: needed(config, 'PAY_TO') }),
    contract: afterPreviousContracts(
      contractAt(needed(config, 'ACCESS_CONTRACT')),
      (config.PREVIOUS_CONTRACTS ?? []).map(contractAt),
    ),
  }
}

/** Reads again what became of a credit. */
export async function judge(view: PaymentsView, credit: PayToCredit): Promise<CreditOutcome> {
  const refunded = await refundedSince(view.log, credit.consensusTimestamp)
  return creditOutcome({ ...view, refunded, offers: await view.contract.offers() }, credit)
}

/** The credit that the verb names, in either spelling. Throws BadUsage without an id, OperatorRefusal if there is none. */
export async function findCredit(view: PaymentsView, call: OperatorCall): Promise<PayToCredit> {
  const [, text] = call.words
  const id = text === undefined ? undefined : parseTransactionId(text)
  if (id === undefined)
    throw new BadUsage('Say which payment: a transaction id such as 0.0.1002@1763600000.000000001.')
  const start = Number(id.validStartSeconds)
  const after = `${Math.max(0, start - CONSENSUS_SECONDS_EARLY)}.000000000`
  for await (const credit of view.log.creditsAfter(after)) {
    if (isDeepStrictEqual(parseTransactionId(credit.transactionId), id)) return credit
    if (credit.consensusSeconds > start + PAYMENT_OVER_SECONDS) break
  }
  const payTo = needed(call.config, 'PAY_TO')
  throw new OperatorRefusal(`${payTo} was not credited by that transaction.`)
}
