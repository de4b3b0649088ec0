/** Selling from the forms: check, pay, and show what came of it. One call at a time. */
import { auditView } from './audit-view.js'
import { cardView } from './card-view.js'
import { tokenAmount } from './figures.js'
import { element, pageElement, pageFact, put } from './page-element.js'
import { checkRequest, payRequest } from './pay-request.js'
import { failureWords, refusalWords, STEP_WORDS, walletWords } from './payment-words.js'
import { currentPayer } from './try-payer.js'

/** @typedef {import('./pay-request.js').PaidOutcome} PaidOutcome */
/**
 * @typedef {object} Sale
 * @property {'grade' | 'audit'} kind
 * @property {unknown} body
 * @property {(issues: import('./pay-request.js').Issue[]) => void} showIssues Marks the fields at fault.
 * @property {(key: string) => void} onNearest Takes a market key that the reader chose from an ungraded card.
 */

const result = pageElement('result', HTMLElement)
const outcome = pageElement('outcome', HTMLElement)

const decimals = Number(pageFact('payment-decimals'))
/** @param {'grade' | 'audit'} kind */
const amountOf = (kind) => pageFact(`payment-${kind}`)
/** @param {'grade' | 'audit'} kind */
const priceOf = (kind) => `$${tokenAmount(amountOf(kind), decimals)}`
/** @param {number} seconds */
const pause = (seconds) =>
  new Promise((resolve) => setTimeout(() => resolve(undefined), seconds * 1_000))

/** Says on the buttons what pressing them does, and what it costs. */
export function nameButtons() {
  const canPay = currentPayer() !== undefined
  put('grade-send', canPay ? `Pay ${priceOf('grade')} and grade` : 'Check the pick, free')
  put('audit-send', canPay ? `Pay ${priceOf('audit')} and audit` : 'Check the record, free')
}

/** @param {'grade' | 'audit'} kind */
function wellFormedWords(kind) {
  return `Well formed. Graded it costs ${priceOf(kind)} in ${pageFact('payment-token')} on ${pageFact('payment-network')}: connect a wallet, or copy an agent’s first request from the overview.`
}

/** @param {(Node | string)[]} content */
function showOutcome(...content) {
  outcome.replaceChildren(...content)
  result.focus({ preventScroll: true })
  const { top } = result.getBoundingClientRect()
  // Beside the form it is in view already; below it, on a phone, it is not.
  if (top < 0 || top > innerHeight / 2) result.scrollIntoView({ block: 'start' })
}

/** @param {'good' | 'warn' | 'bad'} tone @param {string} words */
const say = (tone, words) => showOutcome(element('p', { class: `note ${tone}` }, words))

/** @param {keyof typeof STEP_WORDS} step */
const onStep = (step) => put('progress', STEP_WORDS[step])

/** @param {Sale} sale @param {unknown} answer @param {string | undefined} transaction */
function answerView({ kind, onNearest }, answer, transaction) {
  return kind === 'grade'
    ? cardView(/** @type {import('./card-view.js').Card} */ (answer), {
        transaction,
        onNearest,
      })
    : auditView(/** @type {import('./audit-view.js').AuditAnswer} */ (answer), { transaction })
}

/**
 * @param {Sale} sale
 * @param {PaidOutcome | { kind: 'well_formed' }} ended
 */
function showEnd(sale, ended) {
  put('progress', '')
  switch (ended.kind) {
    case 'answer':
      return showOutcome(answerView(sale, ended.answer, ended.transaction))
    case 'well_formed':
      return say('good', wellFormedWords(sale.kind))
    case 'invalid':
      outcome.replaceChildren(
        element(
          'p',
          { class: 'note bad' },
          'Not well formed: see beside the fields. Nothing was charged.',
        ),
      )
      return sale.showIssues(ended.issues)
    case 'other_terms':
      return say(
        'bad',
        'The service asks for other terms than this page shows. Nothing was signed; load the page again.',
      )
    case 'refused':
      return say('bad', refusalWords(ended.error))
    case 'not_signed':
      return say('warn', walletWords(ended.error))
    case 'failed':
      return say('bad', failureWords(ended))
    case 'unanswered': {
      const again = element(
        'button',
        { type: 'button', class: 'main' },
        'Ask again, without paying again',
      )
      again.addEventListener('click', () => void run(sale, ended.again))
      return showOutcome(
        element(
          'p',
          { class: 'note warn' },
          'The payment was sent and the answer is not here yet. It is not lost: asking again sends the same payment, not a new one.',
        ),
        again,
      )
    }
  }
}

/** One call at a time: a second click must not sign a second payment. */
let busy = false
/** Whether a call is under way. */
export const isBusy = () => busy

/**
 * @param {Sale} sale
 * @param {() => Promise<PaidOutcome | { kind: 'well_formed' }>} work
 */
async function run(sale, work) {
  if (busy) return
  busy = true
  const buttons = ['grade-send', 'audit-send'].map((id) => pageElement(id, HTMLButtonElement))
  for (const button of buttons) button.setAttribute('aria-disabled', 'true')
  result.setAttribute('aria-busy', 'true')
  try {
    showEnd(sale, await work())
  } catch {
    // Signing and reading are accounted for above: what is left is an answer that is no JSON.
    showEnd(sale, { kind: 'failed', status: 0, error: 'no_answer' })
  } finally {
    busy = false
    for (const button of buttons) button.removeAttribute('aria-disabled')
    result.removeAttribute('aria-busy')
  }
}

/**
 * Pays for a call, or checks it where nobody can pay.
 *
 * @param {Sale} sale
 */
export function sell(sale) {
  const path = `/api/${sale.kind}`
  const payer = currentPayer()
  const { body, kind } = sale
  const terms = {
    network: pageFact('payment-network'),
    asset: pageFact('payment-asset'),
    amount: amountOf(kind),
  }
  if (payer === undefined) {
    onStep('asking')
    return run(sale, () => checkRequest({ path, body }))
  }
  return run(sale, () => payRequest({ path, body, payer, terms, onStep, pause }))
}
