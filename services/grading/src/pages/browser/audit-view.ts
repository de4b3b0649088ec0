/** An audit for people: raw return beside the Sharp Score, edge and luck apart, and every card below. */
import { actionButton, element, svgElement } from '@tallystick/service-kit/browser'
import { isUnconfirmed } from '../../domain/closes/far-price.ts'
import type { AuditAnswer } from '../../wire/audit.ts'
import { RESULT_WORDS } from '../../wire/card-codes.ts'
import type { Card } from '../../wire/cards.ts'
import { counted, number, percent, percentInterval, signed, signedPercent } from '../figures.ts'
import { breakdownView, findingsView, stakeWords } from './audit-breakdown-view.ts'
import { figureTable } from './band-table.ts'
import { big, facts, hint, letter, mono, said, side, sides, syntheticNote } from './card-parts.ts'
import { resultTone, UNGRADED_WORDS } from './card-words.ts'
import { betWords, eventWords } from './market-words.ts'

/** Rows shown at first; a button loads the rest, so that a phone does not get a thousand at once. */
const ROWS_FIRST = 50

function roiSide(roi: AuditAnswer['raw_roi']): HTMLElement {
  const { pct, staked, profit, p_value: chance, ci95 } = roi
  if (pct === null) return side('Raw return', big('–'), 'No pick has a result yet.')
  return side(
    'Raw return',
    big(signedPercent(pct)),
    `${signed(profit)} units on ${staked}, flat stakes`,
    ci95 !== null && `95 %: ${percentInterval(ci95)}`,
    chance !== null && `by chance alone: ${percent(chance)}`,
  )
}

function scoreSide({ second_score: second, sharp_score: score }: AuditAnswer): HTMLElement {
  const secondWords =
    second !== null && `${number(second.value, 1)} of 100 by another measure: ${second.label}`
  if (score === null) {
    const words = 'No pick has a fair close at the default reference.'
    return side('Sharp Score', big('–'), words, secondWords)
  }
  const { value, edge, edge_ci90: interval, p_edge_positive: chance } = score
  const shown = big(number(value, 1))
  shown.append(element('span', { class: 'of' }, ' of 100'))
  return side(
    'Sharp Score',
    shown,
    scoreStrip(value),
    `edge ${signedPercent(edge)}, 90 %: ${percentInterval(interval)}`,
    `an edge above zero: ${percent(chance)} likely`,
    secondWords,
  )
}

/** `value` is 0 to 100. */
function scoreStrip(value: number): SVGSVGElement {
  const width = 3 + (Math.min(100, Math.max(0, value)) / 100) * 194
  const track = { x: 0, y: 4, height: 6, rx: 3 }
  return svgElement(
    'svg',
    { class: 'score-strip', viewBox: '0 0 200 14', 'aria-hidden': 'true' },
    svgElement('rect', { class: 'track', ...track, width: 200 }),
    svgElement('rect', { class: 'half', x: 99, y: 1, width: 2, height: 12 }),
    svgElement('rect', { class: 'filled', ...track, width }),
  )
}

function luckWords(deviations: number): string {
  if (Math.abs(deviations) < 1) return 'As much as usual'
  return Math.abs(deviations) < 2 ? 'More than usual' : 'Far more than usual'
}

function edgeAndLuck({ edge_and_luck: split }: AuditAnswer['summary']): readonly HTMLElement[] {
  if (split === null) return []
  const { profit, edge, luck, luck_z: deviations } = split
  const largest = Math.max(Math.abs(profit), Math.abs(edge), Math.abs(luck), 1e-9)
  const bars = Object.entries({ Edge: edge, Luck: luck, Profit: profit }).map(([name, value]) =>
    element(
      'div',
      { class: 'bar-row' },
      element('span', {}, name),
      bar(value / largest),
      element('strong', {}, `${signed(value)} units`),
    ),
  )
  return [
    element('h3', {}, 'Edge and luck'),
    element('div', { class: 'bars' }, ...bars),
    hint(
      `Of the graded and settled picks: what their prices were worth, and the rest. ${luckWords(deviations)} for luck (${signed(deviations, 1)} standard deviations).`,
    ),
  ]
}

/** `share` is −1 to 1 of the row's half. */
function bar(share: number): SVGSVGElement {
  const width = Math.abs(share) * 98
  return svgElement(
    'svg',
    { class: 'bar', viewBox: '0 0 200 14', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    svgElement('rect', {
      class: share < 0 ? 'down' : 'up',
      x: share < 0 ? 100 - width : 100,
      y: 1,
      width,
      height: 12,
    }),
    svgElement('rect', { class: 'middle-line', x: 99.5, y: 0, width: 1, height: 14 }),
  )
}

/** Non-zero counts, as in `3 won, 1 lost`; undefined if all are zero. */
function tally(
  counts: Readonly<Record<string, number>>,
  words?: Readonly<Record<string, string>>,
  times = '',
): string | undefined {
  const shown = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count}${times} ${words?.[name]?.toLowerCase() ?? name}`)
  return shown.length === 0 ? undefined : shown.join(', ')
}

function auditFacts(audit: AuditAnswer): HTMLElement {
  const { coverage, record, summary, needs } = audit
  const { beat_close: beat, mean_clv: mean, median_clv: median, vig_paid: margin } = summary
  const onPrice = coverage.price_basis > 0 ? `, ${coverage.price_basis} on price alone` : ''
  const beatRange = beat.ci95?.map((end) => percent(end, 0)).join(' to ') ?? '–'
  return facts([
    ['Record', tally(record, RESULT_WORDS) ?? ''],
    ['By your stakes', stakeWords(audit)],
    ['Graded', `${coverage.graded} of ${coverage.picks}${onPrice}`],
    ['Not counted', unconfirmedWords(coverage)],
    ['Ungraded', tally(coverage.by_reason, UNGRADED_WORDS, ' ×')],
    [
      'Fair value',
      mean !== null && `mean ${signedPercent(mean)}, median ${signedPercent(median ?? mean)}`,
    ],
    ['Beat the close', beat.rate !== null && `${beat.count} of ${beat.of} (95 %: ${beatRange})`],
    ['Margin paid', margin !== null && percent(margin)],
    ['Grades', tally(summary.grade_counts)],
    [
      'To be sure',
      needs.picks_for_95 !== null &&
        `${counted(needs.picks_for_95, 'pick')} like these would show the edge at 95 %`,
    ],
  ])
}

/** Cards that stand outside every figure. */
function unconfirmedWords({ unconfirmed }: AuditAnswer['coverage']): string | undefined {
  if (unconfirmed.length === 0) return undefined
  return `${counted(unconfirmed.length, 'pick')} at a price far from any recorded one, not confirmed`
}

/** A card's grade in a row: its letter, its value and its prices. */
function gradeCells(card: Card): readonly [grade: HTMLElement, value: string, prices: string] {
  if (card.outcome === 'UNGRADED')
    return [element('span', { class: 'hint' }, 'UNGRADED'), UNGRADED_WORDS[card.reason.code], '–']
  const prices = `${number(card.taken.odds)} → ${number(card.close.odds)}`
  const value = signedPercent(card.clv.fair ?? card.clv.price)
  const left = isUnconfirmed(card) ? ', not counted' : ''
  return [letter(card.grade, 'small'), `${value}${left}`, prices]
}

function cardRow(card: Card, index: number): HTMLElement {
  const { event, market, ref, selection } = card.pick
  const status = card.scoreboard?.status ?? 'pending'
  const title = event === undefined ? eventWords(market) : `${event.home} v ${event.away}`
  const what = `${betWords(market, selection, event)}${ref === undefined ? '' : ` · ${ref}`}`
  const [grade, value, prices] = gradeCells(card)
  const result = element('span', { class: resultTone(status) }, RESULT_WORDS[status])
  return element(
    'tr',
    {},
    element('td', { class: 'number', 'data-label': 'Pick' }, String(index + 1)),
    element('td', { 'data-label': 'Grade' }, grade),
    element('th', { scope: 'row' }, title, element('small', {}, what)),
    element('td', { 'data-label': 'Result' }, result),
    element('td', { class: 'number', 'data-label': 'Value' }, value),
    element('td', { class: 'number', 'data-label': 'Taken → close' }, prices),
  )
}

/** Names of the columns and their classes. */
const COLUMNS = [
  ['Pick', 'number'],
  ['Grade', ''],
  ['Market', 'wide'],
  ['Result', ''],
  ['Value', 'number'],
  ['Taken → close', 'number'],
] as const

function cardTable(cards: readonly Card[]): readonly HTMLElement[] {
  const table = figureTable(
    { label: 'The cards', kind: 'rows' },
    COLUMNS,
    cards.slice(0, ROWS_FIRST).map(cardRow),
  )
  if (cards.length <= ROWS_FIRST) return [table]
  const more = actionButton({}, `Show all ${cards.length}`, () => {
    table.querySelector('tbody')?.append(...cards.map(cardRow).slice(ROWS_FIRST))
    more.remove()
  })
  return [table, more]
}

export function auditView(
  audit: AuditAnswer,
  { transaction }: { readonly transaction?: string | undefined } = {},
): HTMLElement {
  const isSynthetic = audit.picks.some(
    (card) => card.outcome === 'GRADED' && card.close.source.synthetic,
  )
  return element(
    'article',
    { class: 'grade-card', 'data-outcome': 'AUDIT' },
    isSynthetic && syntheticNote('Some of these closes are synthetic; they are not real markets.'),
    audit.label !== undefined && element('p', { class: 'teams' }, audit.label),
    sides('Two readings of one record', roiSide(audit.raw_roi), scoreSide(audit)),
    said(audit.verdict),
    ...edgeAndLuck(audit.summary),
    auditFacts(audit),
    ...findingsView(audit),
    ...breakdownView(audit),
    element('h3', {}, 'The cards'),
    ...cardTable(audit.picks),
    transaction !== undefined && hint('Paid in ', mono(transaction)),
    transaction !== undefined &&
      audit.receipt !== undefined &&
      hint(
        element('a', { href: `/audit/${audit.receipt}` }, 'A page of its own'),
        ', to check and to share: whoever has its address can read it.',
      ),
  )
}
