/** Sells from the forms: check, pay, and show the outcome. One call at a time. */
import { actionButton, pageElement, pageFact, put } from '@tallystick/service-kit/browser'
import type { AuditAnswer } from '../../wire/audit.ts'
import type { Card } from '../../wire/cards.ts'
import { dollarText } from '../figures.ts'
import { auditView } from './audit-view.ts'
import { note } from './card-parts.ts'
import { cardView } from './card-view.ts'
import type { Issue } from './page-api.ts'
import { checkRequest, type PaidOutcome, payRequest, type Step } from './pay-request.ts'
import { currentPayer, walletWords } from './payer.ts'

type Kind = 'grade' | 'audit'
type Sale = {
  readonly kind: Kind
  readonly body: unknown
  /** Marks the fields at fault. */
  readonly showIssues: (issues: readonly Issue[]) => void
  /** Receives the market key that the reader chose from an ungraded card. */
  readonly onNearest: (key: string) => void
}
type Ended = PaidOutcome | { readonly kind: 'well_formed' }

const STEP_WORDS: Readonly<Record<Step, string>> = {
  asking: 'Checking the request. Nothing is charged yet.',
  signing: 'Well formed. Waiting for your signature…',
  settling: 'Signed. The payment is being settled…',
  waiting: 'The payment is being completed. Nothing is signed again…',
}

const REFUSALS: Readonly<Record<string, string>> = {
  payment_required: 'The service did not see a payment. Nothing was charged.',
  payment_already_used: 'That payment has already bought something else. Nothing new was charged.',
  insufficient_funds: 'The paying address does not hold enough of the token. Nothing was charged.',
  invalid_exact_evm_payload_signature:
    'The signature is not that of the paying address. Nothing was charged.',
  invalid_exact_evm_payload_authorization_valid_before:
    'The payment expired before it was settled. Nothing was charged.',
  payment_requirements_mismatch: 'The terms changed in the meantime. Nothing was charged.',
}

const refusalWords = (error: string): string =>
  REFUSALS[error] ?? `The payment was refused (${error}). Nothing was charged.`

function failureWords({ status, error }: { readonly status: number; readonly error: string }) {
  if (error === 'no_answer') return 'The service does not answer. Nothing was charged.'
  if (status === 413) return 'That is more than the service accepts at once. Nothing was charged.'
  if (status === 503 || status === 502)
    return `The service cannot do that just now (${error}). Nothing was charged.`
  return `The service answered ${status} (${error}). Nothing was charged.`
}

const result = pageElement('result')
const outcome = pageElement('outcome')

const amountFact = (kind: Kind): string => pageFact(`payment-${kind}Amount`)
const priceFact = (kind: Kind): string =>
  dollarText(BigInt(amountFact(kind)), Number(pageFact('payment-decimals')))

const pause = (seconds: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, seconds * 1_000)
  })

/** Labels the buttons with what they do and what it costs. */
export function nameButtons(): void {
  const canPay = currentPayer() !== undefined
  put('grade-send', canPay ? `Pay ${priceFact('grade')} and grade` : 'Check the pick, free')
  put('audit-send', canPay ? `Pay ${priceFact('audit')} and audit` : 'Check the record, free')
}

function wellFormedWords(kind: Kind): string {
  return `Well formed. It costs ${priceFact(kind)} in ${pageFact('payment-name')} on ${pageFact('payment-network')}: connect a wallet, or copy an agent’s first request from the overview.`
}

function showOutcome(...content: readonly HTMLElement[]): void {
  pageElement('sample').hidden = true
  outcome.replaceChildren(...content)
  result.focus({ preventScroll: true })
  const { top } = result.getBoundingClientRect()
  // Beside the form the outcome is already in view; below it, on a phone, it is not.
  if (top < 0 || top > innerHeight / 2) result.scrollIntoView({ block: 'start' })
}

const onStep = (step: Step): void => put('progress', STEP_WORDS[step])

function showAnswer(
  { kind, onNearest }: Sale,
  { answer, transaction }: Extract<PaidOutcome, { kind: 'answer' }>,
): void {
  showOutcome(
    kind === 'grade'
      ? cardView(answer as Card, { transaction, onNearest })
      : auditView(answer as AuditAnswer, { transaction }),
  )
}

function showUnanswered(sale: Sale, again: () => Promise<PaidOutcome>): void {
  const button = actionButton({ class: 'main' }, 'Ask again, without paying again', () => {
    void run(sale, again)
  })
  const words =
    'The payment was sent and the answer has not arrived yet. It is not lost: asking again sends the same payment, not a new one.'
  showOutcome(note('warn', words), button)
}

function showEnd(sale: Sale, ended: Ended): void {
  put('progress', '')
  switch (ended.kind) {
    case 'answer':
      return showAnswer(sale, ended)
    case 'well_formed':
      return showOutcome(note('good', wellFormedWords(sale.kind)))
    case 'invalid':
      outcome.replaceChildren(
        note('bad', 'Not well formed: see the notes beside the fields. Nothing was charged.'),
      )
      return sale.showIssues(ended.issues)
    case 'other_terms':
      return showOutcome(
        note(
          'bad',
          'The service asks for different terms from those on this page. Nothing was signed; reload the page.',
        ),
      )
    case 'refused':
      return showOutcome(note('bad', refusalWords(ended.error)))
    case 'not_signed':
      return showOutcome(note('warn', walletWords(ended.error)))
    case 'failed':
      return showOutcome(note('bad', failureWords(ended)))
    case 'unanswered':
      return showUnanswered(sale, ended.again)
  }
}

/** One call at a time: a second click must not sign a second payment. */
let busy = false
/** Whether a call is under way. */
export const isBusy = (): boolean => busy

async function run(sale: Sale, work: () => Promise<Ended>): Promise<void> {
  if (busy) return
  busy = true
  const buttons = ['grade-send', 'audit-send'].map((id) => pageElement(id))
  for (const button of buttons) button.setAttribute('aria-disabled', 'true')
  result.setAttribute('aria-busy', 'true')
  try {
    showEnd(sale, await work())
  } catch {
    // Signing and reading are handled above: what remains is an answer that is not JSON.
    showEnd(sale, { kind: 'failed', status: 0, error: 'no_answer' })
  } finally {
    busy = false
    for (const button of buttons) button.removeAttribute('aria-disabled')
    result.removeAttribute('aria-busy')
  }
}

/** Pays for a call, or only checks it if nobody can pay. */
export function sell(sale: Sale): Promise<void> {
  const { body, kind } = sale
  const path = `/api/${kind}`
  const payer = currentPayer()
  if (payer === undefined) {
    onStep('asking')
    return run(sale, () => checkRequest({ path, body }))
  }
  const network = pageFact('payment-network')
  const terms = { network, asset: pageFact('payment-asset'), amount: amountFact(kind) }
  return run(sale, () => payRequest({ path, body, payer, terms, onStep, pause }))
}
