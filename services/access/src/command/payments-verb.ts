import { DAY_SECONDS, isoText } from '@tallystick/service-kit/clock'
import { BadUsage } from '@tallystick/service-kit/command'
import { formatHbar } from '@tallystick/x402/hedera'
import { createAccessContractWriter } from '../adapters/access-contract-writer.ts'
import { createLedgerFacts } from '../adapters/ledger-facts.ts'
import { createRelay } from '../adapters/relay.ts'
import { keyHex } from '../config.ts'
import type { PayToCredit } from '../domain/payment-log.ts'
import type { CreditRefusal } from '../domain/unresolved-credits.ts'
import {
  type CreditOutcome,
  creditOutcome,
  findCredit,
  judge,
  openPayments,
  refundedSince,
} from './credits.ts'
import {
  countOption,
  needed,
  type OperatorCall,
  OperatorRefusal,
  type OperatorVerb,
} from './operator-verb.ts'
import { refundPayment } from './refund.ts'

export const paymentsVerb: OperatorVerb = {
  name: 'payments',
  usage: '[list [--days N]|open ID|refund ID [--although-pending]]',
  summary: 'what payTo was paid: opened, pending, refused or refunded; settle one',
  example: 'payments list --days 7',
  options: { days: 'text', 'although-pending': 'flag' },
  json: {
    prints: 'one line for each',
    members: [
      'at',
      'transactionId',
      'amountTinybar',
      'payer',
      'outcome',
      'agent',
      'reason',
      'isRefundedToo',
    ],
  },
  wordsMax: 2,
  needs: (words) =>
    words[0] === 'open' || words[0] === 'refund'
      ? ['ACCESS_CONTRACT', 'PAY_TO', 'PAY_TO_KEY']
      : ['ACCESS_CONTRACT', 'PAY_TO'],
  async run(call) {
    const [action = 'list'] = call.words
    if (action === 'list') return await listPayments(call)
    if (action === 'open') return await openPayment(call)
    if (action === 'refund') return await refundPayment(call)
    throw new BadUsage('Say what to do: nothing more, `open ID` or `refund ID`.')
  },
}

/** How far back the list goes unless `--days` says otherwise; as far as the service looks back itself. */
const DAYS = 30

/** Why a credit buys nothing, for the seller. */
const REFUSALS: Readonly<Record<CreditRefusal, string>> = {
  'several-payers': 'several accounts paid it',
  'reserved-memo': 'its memo names no agent',
  'agent-unheld': 'nobody acts under the address that its memo names',
  'no-whole-purchase': 'it is no whole purchase at a price of that time',
  'paid-by-contract': 'the contract paid it out, so that it is yours',
}

function outcomeText(outcome: CreditOutcome): string {
  if (outcome.kind === 'opened')
    return `opened for ${outcome.agent}${outcome.isRefundedToo ? ' AND REFUNDED' : ''}`
  if (outcome.kind === 'pending') return `pending for ${outcome.purchase.order.agent}`
  return outcome.kind === 'refunded' ? 'refunded' : `refused: ${REFUSALS[outcome.reason]}`
}

function paymentRow(credit: PayToCredit, outcome: CreditOutcome) {
  const { amountTinybar, payer, transactionId } = credit
  const agent = outcome.kind === 'pending' ? { agent: outcome.purchase.order.agent } : {}
  const { kind, ...more } = outcome
  const at = isoText(credit.consensusSeconds)
  return { ...more, ...agent, at, transactionId, amountTinybar, payer, outcome: kind }
}

/** Prints payTo's credits with what became of each, oldest first, and a line that counts them. */
async function listPayments(call: OperatorCall): Promise<void> {
  const days = countOption(call, 'days') ?? DAYS
  const view = openPayments(call.config, call.clock)
  await view.contract.ensureDeployed()
  const sinceSeconds = Math.floor(call.clock.unixMs() / 1_000) - days * DAY_SECONDS
  const since = `${Math.max(0, sinceSeconds)}.000000000`
  const refunded = await refundedSince(view.log, since)
  const facts = { ...view, refunded, offers: await view.contract.offers() }
  const counts = { opened: 0, pending: 0, refused: 0, refunded: 0 }
  let sumTinybar = 0n
  for await (const credit of view.log.creditsAfter(since)) {
    const outcome = await creditOutcome(facts, credit)
    if (call.isJson) {
      call.printJson(paymentRow(credit, outcome))
      continue
    }
    counts[outcome.kind] += 1
    sumTinybar += credit.amountTinybar
    call.print(
      `${isoText(credit.consensusSeconds).replace('T', ' ')}  ${credit.transactionId}  ${formatHbar(credit.amountTinybar)} from ${credit.payer ?? 'several'}`,
    )
    call.print(`    ${outcomeText(outcome)}`)
  }
  if (call.isJson) return
  const parts = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`)
  call.print(`${formatHbar(sumTinybar)} in ${days} days: ${parts.join(', ')}.`)
  if (counts.refused > 0) call.print('Give a refused one back with: payments refund ID')
}

/** Opens one pending payment now, from payTo's key, as the service's sweep would. */
async function openPayment(call: OperatorCall): Promise<void> {
  const view = openPayments(call.config, call.clock)
  const outcome = await judge(view, await findCredit(view, call))
  if (outcome.kind === 'opened')
    throw new OperatorRefusal(`It was opened before, for ${outcome.agent}.`)
  if (outcome.kind === 'refunded') throw new OperatorRefusal('It was refunded and stays closed.')
  if (outcome.kind === 'refused')
    throw new OperatorRefusal(
      `It cannot be opened: ${REFUSALS[outcome.reason]}. Refund it instead.`,
    )
  const { clock } = call
  const relay = createRelay({ url: call.config.LEDGER_RPC_URL, clock })
  const sender = createAccessContractWriter({
    relay,
    facts: createLedgerFacts({ relay, clock }),
    chainId: call.config.LEDGER_CHAIN_ID,
    contract: view.contract,
    privateKey: keyHex(needed(call.config, 'PAY_TO_KEY')),
    clock,
  })
  try {
    const opened = await sender.openPaid(outcome.purchase.order)
    if (opened.kind === 'refused')
      throw new OperatorRefusal(`The contract refuses: ${opened.reason}.`)
    if (opened.kind === 'already-used')
      throw new OperatorRefusal(`It was opened in the meantime, for ${opened.agent}.`)
    const { agent } = outcome.purchase.order
    call.print(
      opened.isTopUp ? `The balance of ${agent} is topped up.` : `The window of ${agent} is open.`,
    )
    call.print(`Transaction ${opened.transactionHash}`)
  } finally {
    await sender.close()
  }
}
