/** A card for people: the scoreboard's result and the closing line's side by side, and what both rest on. */
import { bandScale } from './band-scale.js'
import {
  FLAG_WORDS,
  NOT_COUNTED_WORDS,
  RESULT_TONES,
  RESULT_WORDS,
  UNGRADED_WORDS,
} from './card-words.js'
import {
  counted,
  number,
  percent,
  percentInterval,
  signed,
  signedPercent,
  timeText,
} from './figures.js'
import { marketWords, selectionWords } from './market-words.js'
import { element } from './page-element.js'

/** @typedef {import('../../wire/cards.ts').Card} Card */
/** @typedef {import('../../wire/cards.ts').GradedCard} GradedCard */
/** @typedef {import('../../wire/cards.ts').UngradedCard} UngradedCard */
/** @typedef {import('../../wire/cards.ts').CardCalibration} CardCalibration */
/** @typedef {{ transaction?: string | undefined, onNearest?: (key: string) => void }} CardOptions */

/** @param {Card['scoreboard']} scoreboard */
function scoreboardSide(scoreboard) {
  const status = scoreboard?.status ?? 'pending'
  const lines = [element('p', { class: `big ${RESULT_TONES[status]}` }, RESULT_WORDS[status])]
  if (scoreboard !== undefined && scoreboard.status !== 'pending') {
    const { return_units: units, score } = scoreboard
    const shown = `${signed(units)} units${score === undefined ? '' : `, ${score.replace('-', '–')}`}`
    lines.push(element('p', {}, shown))
  } else lines.push(element('p', {}, 'The ledger has no result yet.'))
  return element('div', { class: 'side' }, element('h3', {}, 'Scoreboard'), ...lines)
}

/** @param {GradedCard} card */
const gradedValue = ({ clv }) => clv.fair ?? clv.price

/** @param {GradedCard} card */
function gradeSide(card) {
  const letter = element('span', { class: 'letter', 'data-band': card.grade }, card.grade)
  const where = card.basis === 'fair' ? 'at the fair close' : 'on price alone'
  return element(
    'div',
    { class: 'side' },
    element('h3', {}, 'Closing line'),
    element('p', { class: 'big' }, letter),
    element('p', {}, `${signedPercent(gradedValue(card))} ${where}`),
  )
}

/** @param {Card['pick']} pick */
function pickHeading({ market, selection, event, ref }) {
  const what = `${marketWords(market)}: ${selectionWords(selection, event)}`
  const when =
    event === undefined ? [] : [element('p', { class: 'hint' }, timeText(event.starts_at))]
  return element(
    'header',
    { class: 'pick' },
    element(
      'p',
      { class: 'teams' },
      event === undefined ? market : `${event.home} v ${event.away}`,
    ),
    element('p', {}, what),
    ...when,
    ...(ref === undefined ? [] : [element('p', { class: 'hint' }, `Your mark: ${ref}`)]),
  )
}

/** @param {boolean} isSynthetic */
const syntheticNote = (isSynthetic) =>
  isSynthetic
    ? [
        element(
          'p',
          { class: 'note warn' },
          element('strong', {}, 'Synthetic data.'),
          ' This close was made up; it is no real market.',
        ),
      ]
    : []

/** @param {[name: string, value: Node | string | undefined][]} pairs */
function facts(pairs) {
  return element(
    'dl',
    { class: 'facts' },
    ...pairs.flatMap(([name, value]) =>
      value === undefined ? [] : [element('dt', {}, name), element('dd', {}, value)],
    ),
  )
}

/** @param {GradedCard['close']} close */
function closeWords({ source, captured_at: at, seconds_before_start: seconds }) {
  const when = at === null ? 'time not known' : timeText(at)
  const before =
    seconds === null || seconds < 60
      ? ''
      : `, ${counted(Math.round(seconds / 60), 'minute')} before the start`
  return `${source.book} by ${source.feed}, ${when}${before}`
}

/** The price as it was written, and as decimal odds where that is something else. @param {GradedCard['taken']} taken */
function takenWords({ odds, text }) {
  const decimal = number(odds, Number(odds.toFixed(2)) === odds ? 2 : 3)
  return Number(text) === odds ? decimal : `${text} (${decimal})`
}

/** @param {GradedCard} card */
function priceFacts(card) {
  const { clv, close, taken, method_spread: spread, grade_margin: margin } = card
  const fairOdds = close.fair_odds === undefined ? '' : `, fair ${number(close.fair_odds, 3)}`
  const entry = element(
    'a',
    { href: `/api/ledger/${close.record.seq}` },
    `ledger entry ${close.record.seq}`,
  )
  return facts([
    ['You took', takenWords(taken)],
    ['It closed at', `${number(close.odds, 2)}${fairOdds}`],
    [
      'Price value',
      `${signedPercent(clv.price)}: ${clv.beat_close ? 'better than the close' : clv.price === 0 ? 'the close itself' : 'worse than the close'}`,
    ],
    [
      'Fair value',
      clv.fair === undefined ? undefined : `${signedPercent(clv.fair)} with the margin taken out`,
    ],
    [
      'Margin',
      close.booksum === undefined
        ? undefined
        : `${percent(close.booksum - 1, 2)}, taken out by ${close.method ?? 'power'}`,
    ],
    [
      'Other methods',
      spread === undefined
        ? undefined
        : `up to ${number(spread * 100, 2)} points apart; the next band is ${number(margin * 100, 2)} points off`,
    ],
    ['Close from', closeWords(close)],
    ['Recorded as', entry],
  ])
}

/** @param {CardCalibration} record */
function bandRecord({
  band,
  basis,
  population,
  scope,
  n,
  roi,
  roi_ci95: interval,
  expected_roi: promised,
  low_sample: isLow,
}) {
  const which = `${basis === 'price' ? 'graded on price alone, ' : ''}${population === 'mechanical' ? 'every recorded price' : 'committed picks'}${scope === 'synthetic' ? ', synthetic' : ''}`
  const words =
    n === 0 || roi === null
      ? 'No pick with this grade is settled yet.'
      : `${counted(n, 'settled pick')} (${which}) returned ${signedPercent(roi)} on average${interval === null ? '' : `, 95 %: ${percentInterval(interval)}`}.${promised === null ? '' : ` Their grades promised ${signedPercent(promised)}.`}`
  const low = isLow && n > 0 ? [' ', element('span', { class: 'badge warn' }, 'low sample')] : []
  return element(
    'div',
    { class: 'record' },
    element('h3', {}, `What ${band} has been worth`),
    element('p', {}, words, ...low),
  )
}

/** @param {Card} card */
function countedWords({ counted: state }) {
  return state.population === 'committed'
    ? `Committed as ledger entry ${state.seq}, before the start: it counts in the truth table.`
    : NOT_COUNTED_WORDS[state.why]
}

/**
 * @param {Card} card
 * @param {CardOptions} options
 */
function cardFoot(card, { transaction }) {
  const receipt =
    card.receipt === undefined
      ? undefined
      : element(
          'a',
          { href: `/api/picks/${encodeURIComponent(card.receipt)}` },
          'this card, as it stands from now on',
        )
  const paid =
    transaction === undefined ? undefined : element('span', { class: 'mono' }, transaction)
  return facts([
    ['Counted', countedWords(card)],
    ['Receipt', receipt],
    ['Paid in', paid],
  ])
}

/** @param {GradedCard['flags']} flags */
function flagNotes(flags) {
  // Said elsewhere on the card: above it, and where it says what is counted.
  const shown = flags.filter((flag) => flag !== 'synthetic' && flag !== 'received_after_start')
  if (shown.length === 0) return []
  return [
    element(
      'ul',
      { class: 'note plain-list' },
      ...shown.map((flag) => element('li', {}, FLAG_WORDS[flag])),
    ),
  ]
}

/**
 * @param {GradedCard} card
 * @param {CardOptions} options
 */
function gradedView(card, options) {
  return element(
    'article',
    { class: 'grade-card', 'data-outcome': 'GRADED' },
    ...syntheticNote(card.close.source.synthetic),
    pickHeading(card.pick),
    element(
      'div',
      { class: 'sides', role: 'group', 'aria-label': 'Two results of one bet' },
      scoreboardSide(card.scoreboard),
      gradeSide(card),
    ),
    bandScale(gradedValue(card), card.grade),
    element('p', { class: 'said' }, card.summary),
    ...flagNotes(card.flags),
    priceFacts(card),
    bandRecord(card.calibration),
    cardFoot(card, options),
  )
}

/**
 * @param {UngradedCard} card
 * @param {CardOptions} options
 */
function ungradedView(card, options) {
  const { code, message, nearest = [] } = card.reason
  const { onNearest } = options
  const near = nearest.map((key) => {
    if (onNearest === undefined || !key.includes('/')) return element('li', { class: 'mono' }, key)
    const button = element('button', { type: 'button', class: 'small mono' }, key)
    button.addEventListener('click', () => onNearest(key))
    return element('li', {}, button)
  })
  const nearList =
    near.length === 0
      ? []
      : [element('p', {}, 'What the ledger does have:'), element('ul', { class: 'near' }, ...near)]
  return element(
    'article',
    { class: 'grade-card', 'data-outcome': 'UNGRADED' },
    pickHeading(card.pick),
    element(
      'div',
      { class: 'sides', role: 'group', 'aria-label': 'Two results of one bet' },
      scoreboardSide(card.scoreboard),
      element(
        'div',
        { class: 'side' },
        element('h3', {}, 'Closing line'),
        element('p', { class: 'big ungraded' }, 'UNGRADED'),
        element('p', {}, UNGRADED_WORDS[code]),
      ),
    ),
    element('p', { class: 'said' }, message),
    ...nearList,
    element(
      'p',
      { class: 'hint' },
      'No closing price is ever made up. The ledger was searched, and the call is paid.',
    ),
    cardFoot(card, options),
  )
}

/**
 * @param {Card} card
 * @param {CardOptions} [options]
 */
export const cardView = (card, options = {}) =>
  card.outcome === 'GRADED' ? gradedView(card, options) : ungradedView(card, options)
