/** A card for people: the scoreboard's result beside the closing line's, and the evidence for both. */
import { actionButton, element } from '@tallystick/service-kit/browser'
import { FLAG_MEANINGS, RESULT_WORDS } from '../../wire/card-codes.ts'
import type { Card, CardCalibration, GradedCard, UngradedCard } from '../../wire/cards.ts'
import {
  counted,
  grouped,
  number,
  percent,
  percentInterval,
  signed,
  signedPercent,
  timeText,
} from '../figures.ts'
import { bandScale } from './band-scale.ts'
import {
  badge,
  big,
  facts,
  hint,
  letter,
  mono,
  said,
  side,
  sides,
  syntheticNote,
} from './card-parts.ts'
import { NOT_COUNTED_WORDS, resultTone, UNGRADED_WORDS } from './card-words.ts'
import { betWords, eventWords } from './market-words.ts'

type CardOptions = {
  /** Of the payment. */
  readonly transaction?: string | undefined
  /** Receives the market key that the reader chose from an ungraded card. */
  readonly onNearest?: ((key: string) => void) | undefined
  /** Made up: it has no entry, receipt or record to show. */
  readonly isExample?: boolean
}

function scoreboardSide(scoreboard: Card['scoreboard']): HTMLElement {
  const status = scoreboard?.status ?? 'pending'
  const result = big(RESULT_WORDS[status], resultTone(status))
  if (scoreboard === undefined || scoreboard.status === 'pending')
    return side('Scoreboard', result, 'The ledger has no result yet.')
  const { return_units: units, score } = scoreboard
  const shown = score === undefined ? '' : `, ${score.replace('-', '–')}`
  return side('Scoreboard', result, `${signed(units)} units${shown}`)
}

const gradedValue = ({ clv }: GradedCard): number => clv.fair ?? clv.price

function gradeSide(card: GradedCard): HTMLElement {
  const where = card.basis === 'fair' ? 'at the fair close' : 'on price alone'
  const value = `${signedPercent(gradedValue(card))} ${where}`
  return side('Closing line', big(letter(card.grade)), value)
}

function pickHeading({ market, selection, event, ref }: Card['pick']): HTMLElement {
  const teams = event === undefined ? eventWords(market) : `${event.home} v ${event.away}`
  return element(
    'header',
    { class: 'pick' },
    element('p', { class: 'teams' }, teams),
    element('p', {}, betWords(market, selection, event)),
    event && hint(timeText(event.starts_at)),
    ref !== undefined && hint(`Your mark: ${ref}`),
  )
}

function closeWords(close: GradedCard['close']): string {
  const { source, captured_at: at, seconds_before_start: seconds } = close
  const when = at === null ? 'time not known' : timeText(at)
  const before =
    seconds === null || seconds < 60
      ? ''
      : `, ${counted(Math.round(seconds / 60), 'minute')} before the start`
  return `${source.book} by ${source.feed}, ${when}${before}`
}

/** The price as written, as decimal odds if those differ, and what is left of it after deductions. */
function takenWords({ each_way: eachWay, odds, pays, text }: GradedCard['taken']): string {
  const decimal = number(odds, Number(odds.toFixed(2)) === odds ? 2 : 3)
  const price = Number(text) === odds ? decimal : `${text} (${decimal})`
  const reduced = pays === undefined ? '' : `, which pays ${number(pays, 3)} after deductions`
  const terms =
    eachWay === undefined
      ? ''
      : `, each way: ${number(eachWay.fraction)} of the odds for ${counted(eachWay.places, 'place')}`
  return `${price}${reduced}${terms}`
}

function beatWords({ beat_close: isBeaten, price }: GradedCard['clv']): string {
  if (isBeaten) return 'better than the close'
  return price === 0 ? 'the close itself' : 'worse than the close'
}

function priceFacts(card: GradedCard, { isExample = false }: CardOptions): HTMLElement {
  const { clv, close, taken, method_spread: spread, grade_margin: margin } = card
  const { booksum, fair_odds: fair, method = 'power', record } = close
  const entry = { href: `/ledger?entry=${record.seq}` }
  const fairWords = fair === undefined ? '' : `, fair ${number(fair, 3)}`
  return facts([
    ['You took', takenWords(taken)],
    ['It closed at', `${number(close.odds, 2)}${fairWords}`],
    ['Price value', `${signedPercent(clv.price)}: ${beatWords(clv)}`],
    ['Fair value', clv.fair !== undefined && `${signedPercent(clv.fair)} with the margin removed`],
    ['Margin', booksum !== undefined && `${percent(booksum - 1, 2)}, removed by ${method}`],
    [
      'Other methods',
      spread !== undefined &&
        `up to ${number(spread * 100, 2)} points apart; the next band is ${number(margin * 100, 2)} points off`,
    ],
    ['Close from', close.legs === undefined && closeWords(close)],
    ['Recorded as', !isExample && element('a', entry, `ledger entry ${grouped(record.seq)}`)],
  ])
}

/** What a card's band has returned so far. */
function bandRecord(record: CardCalibration): HTMLElement {
  const { band, basis, population, scope, n, roi, roi_ci95: interval } = record
  const { expected_roi: promised, low_sample: isLow } = record
  const which = `${basis === 'price' ? 'graded on price alone, ' : ''}${population === 'mechanical' ? 'every recorded price' : 'committed picks'}${scope === 'synthetic' ? ', synthetic' : ''}`
  const words =
    n === 0 || roi === null
      ? 'No pick with this grade has settled yet.'
      : `${counted(n, 'settled pick')} (${which}) returned ${signedPercent(roi)} on average${interval === null ? '' : `, 95 %: ${percentInterval(interval)}`}.${promised === null ? '' : ` Their grades promised ${signedPercent(promised)}.`}`
  return element(
    'div',
    { class: 'record' },
    element('h3', {}, `What ${band} has returned`),
    element('p', {}, `${words} `, isLow && n > 0 && badge('warn', 'low sample')),
  )
}

function countedWords({ counted: state }: Card): string {
  return state.population === 'committed'
    ? `Committed as ledger entry ${grouped(state.seq)}, before the start: it counts in the truth table.`
    : NOT_COUNTED_WORDS[state.why]
}

function cardFoot(card: Card, { transaction }: CardOptions): HTMLElement {
  const { receipt = '' } = card
  const link = { href: `/api/picks/${encodeURIComponent(receipt)}` }
  return facts([
    ['Counted', countedWords(card)],
    ['Receipt', receipt !== '' && element('a', link, 'this card, kept up to date')],
    ['Paid in', transaction !== undefined && mono(transaction)],
  ])
}

function flagNotes(flags: GradedCard['flags']) {
  // Shown elsewhere on the card: at the top, and in the note on what is counted.
  const shown = flags.filter((flag) => flag !== 'synthetic' && flag !== 'received_after_start')
  const items = shown.map((flag) => element('li', {}, FLAG_MEANINGS[flag]))
  return items.length > 0 && element('ul', { class: 'note plain-list' }, ...items)
}

function gradedView(card: GradedCard, options: CardOptions): HTMLElement {
  return element(
    'article',
    { class: 'grade-card', 'data-outcome': 'GRADED' },
    card.close.source.synthetic &&
      syntheticNote('This close is synthetic; it is not a real market.'),
    pickHeading(card.pick),
    sides('Two results of one bet', scoreboardSide(card.scoreboard), gradeSide(card)),
    bandScale(gradedValue(card), card.grade),
    said(card.summary),
    flagNotes(card.flags),
    ...legList(card),
    priceFacts(card, options),
    options.isExample !== true && bandRecord(card.calibration),
    options.isExample !== true && cardFoot(card, options),
  )
}

/** The parts of a parlay or of an each-way bet: what was taken, and what each closed at. */
function legList({ close }: GradedCard): readonly HTMLElement[] {
  const { legs, rule } = close
  if (legs === undefined) return []
  const items = legs.map(({ event, market, odds, record, scoreboard, selection, taken }) =>
    element(
      'li',
      {},
      `${event === undefined ? '' : `${event.home} v ${event.away}, `}${betWords(market, selection, event)}, ${number(taken)} against `,
      element('a', { href: `/ledger?entry=${record.seq}` }, number(odds)),
      `. ${RESULT_WORDS[scoreboard.status]}.`,
    ),
  )
  const title = rule === 'win_and_place' ? 'Half to win, half to be placed' : 'Its legs, multiplied'
  return [element('h3', {}, title), element('ul', { class: 'plain-list' }, ...items)]
}

/** What the ledger does have, offered in place of what it lacks. */
function nearList(keys: readonly string[], onNearest: CardOptions['onNearest']) {
  if (keys.length === 0) return []
  const items = keys.map((key) => {
    if (onNearest === undefined || !key.includes('/')) return element('li', { class: 'mono' }, key)
    const choose = actionButton({ class: 'small mono' }, key, () => onNearest(key))
    return element('li', {}, choose)
  })
  return [
    element('p', {}, 'What the ledger does have:'),
    element('ul', { class: 'near' }, ...items),
  ]
}

function ungradedView(card: UngradedCard, options: CardOptions): HTMLElement {
  const { code, message, nearest = [] } = card.reason
  return element(
    'article',
    { class: 'grade-card', 'data-outcome': 'UNGRADED' },
    pickHeading(card.pick),
    sides(
      'Two results of one bet',
      scoreboardSide(card.scoreboard),
      side('Closing line', big('UNGRADED', 'ungraded'), UNGRADED_WORDS[code]),
    ),
    said(message),
    ...nearList(nearest, options.onNearest),
    hint('No closing price is ever made up. The ledger was searched, and the call is paid.'),
    cardFoot(card, options),
  )
}

export const cardView = (card: Card, options: CardOptions = {}): HTMLElement =>
  card.outcome === 'GRADED' ? gradedView(card, options) : ungradedView(card, options)
