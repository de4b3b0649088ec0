import { formatHbar } from '../domain/hbar.ts'
import { type CreditOutcome, creditOutcome, refundedSince } from './credit-outcome.ts'
import type { OperatorCall } from './operator-verb.ts'
import { openPaymentsDesk } from './payments-desk.ts'
import { countOption } from './read-arguments.ts'

/** How far back the list goes unless `--days` says otherwise; as far as the service itself looks. */
const DAYS = 30
const DAY_SECONDS = 86_400

function outcomeText(outcome: CreditOutcome): string {
  if (outcome.kind === 'opened') {
    return `opened for ${outcome.agent}${outcome.isRefundedToo ? ' AND REFUNDED' : ''}`
  }
  if (outcome.kind === 'pending') return `pending for ${outcome.purchase.order.agent}`
  return outcome.kind === 'refunded' ? 'refunded' : `refused: ${outcome.reason}`
}

function timeText(consensusSeconds: number): string {
  return new Date(consensusSeconds * 1_000).toISOString().slice(0, 19).replace('T', ' ')
}

/** Prints payTo's credits with what became of each, oldest first, and a line that counts them. */
export async function listPayments(call: OperatorCall): Promise<void> {
  const days = countOption(call, 'days') ?? DAYS
  const desk = openPaymentsDesk(call.config, call.clock)
  await desk.contract.ensureDeployed()
  const sinceSeconds = Math.floor(call.clock.unixMs() / 1_000) - days * DAY_SECONDS
  const since = `${Math.max(0, sinceSeconds)}.000000000`
  const { contract, log } = desk
  const refunded = await refundedSince(log, since)
  const periodsPerPurchase = call.config.PERIODS_PER_PURCHASE
  const counts = { opened: 0, pending: 0, refused: 0, refunded: 0 }
  let sumTinybar = 0n
  for await (const credit of log.creditsAfter(since)) {
    const outcome = await creditOutcome({ contract, log, periodsPerPurchase, refunded }, credit)
    counts[outcome.kind] += 1
    sumTinybar += credit.amountTinybar
    call.print(
      `${timeText(credit.consensusSeconds)}Z  ${credit.transactionId}  ${formatHbar(credit.amountTinybar)} from ${credit.payer ?? 'several'}`,
    )
    call.print(`    ${outcomeText(outcome)}`)
  }
  const parts = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`)
  call.print(`${formatHbar(sumTinybar)} in ${days} days: ${parts.join(', ')}.`)
  if (counts.refused > 0) call.print('Give a refused one back with: payments refund ID')
}
