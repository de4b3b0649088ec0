/** Looking markets up, free: by teams and day, and whether a key that was typed can be graded. */
import { timeText } from './figures.js'
import { marketWords } from './market-words.js'
import { readCoverage } from './page-api.js'
import { element, pageElement, put } from './page-element.js'
import { expectedWords, showProblem } from './show-issues.js'

/** @typedef {import('./page-api.js').CoverageAnswer} CoverageAnswer */
/** @typedef {CoverageAnswer['candidates'][number]} Candidate */
/** @typedef {(market: string, event: Candidate) => void} Choose */

/** The service answers a search with so many events at most. */
const FOUND_MAX = 20

/** @type {Record<CoverageAnswer['close'], string>} */
const CLOSE_WORDS = {
  final: 'Its close is recorded: it can be graded.',
  pending: 'It is still before its close: it can be graded only once the last price is final.',
  none: 'No close is recorded: the answer would be UNGRADED, and paid.',
}

/**
 * @param {Candidate} event
 * @param {Choose} choose
 */
function eventItem(event, choose) {
  const chips = event.markets.map(({ market, close }) => {
    const button = element(
      'button',
      { type: 'button', class: 'chip', 'data-market': market, 'data-close': close },
      marketWords(market),
      ...(close === 'final' ? [] : [element('small', {}, ' not closed')]),
    )
    button.addEventListener('click', () => choose(market, event))
    return button
  })
  const badge = event.synthetic ? [' ', element('span', { class: 'badge warn' }, 'synthetic')] : []
  const result =
    event.result === 'final' ? 'settled' : event.result === 'void' ? 'void' : 'not settled'
  return element(
    'li',
    {},
    element('p', {}, element('strong', {}, `${event.home} v ${event.away}`), ...badge),
    element(
      'p',
      { class: 'hint' },
      `${timeText(event.starts_at, event.start_precision)} · ${result}`,
    ),
    element('div', { class: 'chips' }, ...chips),
  )
}

/** @param {Candidate} event */
const isGradable = ({ markets }) => markets.some(({ close }) => close === 'final')

/**
 * @param {CoverageAnswer} coverage
 * @param {Choose} choose
 */
function foundList({ candidates }, choose) {
  if (candidates.length === 0)
    return [
      element('p', { class: 'hint' }, 'The ledger has no event that fits. Fewer words find more.'),
    ]
  const ordered = [
    ...candidates.filter(isGradable),
    ...candidates.filter((event) => !isGradable(event)),
  ]
  const words =
    candidates.length === 1
      ? 'One event fits:'
      : `${candidates.length >= FOUND_MAX ? `${FOUND_MAX} events and more fit: a day or a second team narrows it down.` : `${candidates.length} events fit.`} What can be graded now comes first:`
  return [
    element('p', { class: 'hint' }, words),
    element('ul', { class: 'found' }, ...ordered.map((event) => eventItem(event, choose))),
  ]
}

/**
 * Looks up what the form says and offers what was found.
 *
 * @param {{ text: string, date: string }} known
 * @param {Choose} choose
 */
export async function findMarkets({ text, date }, choose) {
  const found = pageElement('found', HTMLElement)
  showProblem('find-text', '')
  if (text.trim() === '' && date === '') {
    showProblem('find-text', 'Write a team, or choose a day.')
    return
  }
  const answer = await readCoverage({
    ...(text.trim() === '' ? {} : { text: text.trim() }),
    ...(date === '' ? {} : { date }),
  })
  if (answer.kind === 'covered') found.replaceChildren(...foundList(answer.coverage, choose))
  else {
    found.replaceChildren()
    const problem =
      answer.kind === 'invalid'
        ? expectedWords(answer.expected)
        : 'The service does not answer just now.'
    showProblem('find-text', problem)
  }
}

/** Counts lookups, so that a slow answer does not replace a newer one. */
let asked = 0

/**
 * Says below the field whether its key can be graded; malformed keys are marked.
 *
 * @param {string} market
 * @returns {Promise<Candidate | undefined>} The event of the key.
 */
export async function coverKey(market) {
  asked += 1
  const mine = asked
  showProblem('market', '')
  put('market-cover', '')
  if (market.trim() === '') return undefined
  const answer = await readCoverage({ market: market.trim() })
  if (mine !== asked) return undefined
  if (answer.kind === 'failed') return undefined
  if (answer.kind === 'invalid') {
    showProblem('market', expectedWords(answer.expected))
    return undefined
  }
  const { close, candidates } = answer.coverage
  const [event] = candidates
  const teams =
    event === undefined
      ? ''
      : `${event.home} v ${event.away}, ${timeText(event.starts_at, event.start_precision)}. `
  const synthetic = event?.synthetic === true ? ' Synthetic data.' : ''
  put('market-cover', `${teams}${CLOSE_WORDS[close]}${synthetic}`)
  return event
}
