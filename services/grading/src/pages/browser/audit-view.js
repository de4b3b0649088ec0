/** An audit for people: raw return beside the Sharp Score, what was edge and what was luck, and every card below. */
import { RESULT_TONES, RESULT_WORDS, UNGRADED_WORDS } from './card-words.js'
import { counted, number, percent, percentInterval, signed, signedPercent } from './figures.js'
import { marketWords, selectionWords } from './market-words.js'
import { element, svgElement } from './page-element.js'

/** @typedef {import('../../wire/audit.ts').AuditAnswer} AuditAnswer */
/** @typedef {import('../../wire/cards.ts').Card} Card */

/** Rows at first; the rest comes by a button, so that a phone is not given a thousand at once. */
const ROWS_FIRST = 50

/** @param {AuditAnswer['raw_roi']} roi */
function roiSide({ pct, staked, profit, p_value: chance, ci95 }) {
  const words =
    pct === null
      ? ['No pick has a result yet.']
      : [
          `${signed(profit)} units on ${staked}, flat stakes`,
          ...(ci95 === null ? [] : [`95 %: ${percentInterval(ci95)}`]),
          ...(chance === null ? [] : [`by chance alone: ${percent(chance)}`]),
        ]
  return element(
    'div',
    { class: 'side' },
    element('h3', {}, 'Raw return'),
    element('p', { class: 'big' }, pct === null ? '–' : signedPercent(pct)),
    ...words.map((text) => element('p', {}, text)),
  )
}

/** @param {AuditAnswer['sharp_score']} score */
function scoreSide(score) {
  const head = element('h3', {}, 'Sharp Score')
  if (score === null)
    return element(
      'div',
      { class: 'side' },
      head,
      element('p', { class: 'big' }, '–'),
      element('p', {}, 'No pick could be graded.'),
    )
  const { value, edge, edge_ci90: interval, p_edge_positive: chance } = score
  return element(
    'div',
    { class: 'side' },
    head,
    element('p', { class: 'big' }, number(value, 1), element('span', { class: 'of' }, ' of 100')),
    scoreStrip(value),
    element('p', {}, `edge ${signedPercent(edge)}, 90 %: ${percentInterval(interval)}`),
    element('p', {}, `an edge above nothing: ${percent(chance)} likely`),
  )
}

/** @param {number} value 0 to 100 */
function scoreStrip(value) {
  const at = 3 + (Math.min(100, Math.max(0, value)) / 100) * 194
  return svgElement(
    'svg',
    { class: 'score-strip', viewBox: '0 0 200 14', 'aria-hidden': 'true' },
    svgElement('rect', { class: 'track', x: 0, y: 4, width: 200, height: 6, rx: 3 }),
    svgElement('rect', { class: 'half', x: 99, y: 1, width: 2, height: 12 }),
    svgElement('rect', { class: 'filled', x: 0, y: 4, width: at, height: 6, rx: 3 }),
  )
}

/** @param {AuditAnswer['summary']} summary */
function edgeAndLuck({ edge_and_luck: split }) {
  if (split === null) return []
  const { profit, edge, luck, luck_z: deviations } = split
  const largest = Math.max(Math.abs(profit), Math.abs(edge), Math.abs(luck), 1e-9)
  const bars = [
    ['Edge', edge],
    ['Luck', luck],
    ['Profit', profit],
  ].map(([name, value]) =>
    element(
      'div',
      { class: 'bar-row' },
      element('span', {}, String(name)),
      bar(Number(value) / largest),
      element('strong', {}, `${signed(Number(value))} units`),
    ),
  )
  const how =
    Math.abs(deviations) < 1
      ? 'as much as usual'
      : Math.abs(deviations) < 2
        ? 'more than usual'
        : 'far more than usual'
  return [
    element('h3', {}, 'Edge and luck'),
    element('div', { class: 'bars' }, ...bars),
    element(
      'p',
      { class: 'hint' },
      `Of the graded and settled picks: what their prices were worth, and the rest. ${how.charAt(0).toUpperCase()}${how.slice(1)} for luck (${signed(deviations, 1)} standard deviations).`,
    ),
  ]
}

/** @param {number} share −1 to 1 of the row's half. */
function bar(share) {
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

/** @param {AuditAnswer} audit */
function auditFacts({ coverage, record, summary, needs }) {
  const results = Object.entries(record)
    .filter(([, count]) => count > 0)
    .map(
      ([status, count]) =>
        `${count} ${RESULT_WORDS[/** @type {keyof typeof RESULT_WORDS} */ (status)].toLowerCase()}`,
    )
  const reasons = Object.entries(coverage.by_reason).map(
    ([code, count]) =>
      `${count} × ${UNGRADED_WORDS[/** @type {keyof typeof UNGRADED_WORDS} */ (code)].toLowerCase()}`,
  )
  const {
    beat_close: beat,
    grade_counts: grades,
    mean_clv: mean,
    median_clv: median,
    vig_paid: margin,
  } = summary
  /** @type {[string, string | undefined][]} */
  const pairs = [
    ['Record', results.join(', ')],
    [
      'Graded',
      `${coverage.graded} of ${coverage.picks}${coverage.price_basis > 0 ? `, ${coverage.price_basis} on price alone` : ''}`,
    ],
    ['Ungraded', reasons.length === 0 ? undefined : reasons.join(', ')],
    [
      'Fair value',
      mean === null
        ? undefined
        : `mean ${signedPercent(mean)}, median ${signedPercent(median ?? mean)}`,
    ],
    [
      'Beat the close',
      beat.rate === null
        ? undefined
        : `${beat.count} of ${beat.of} (95 %: ${beat.ci95 === null ? '–' : beat.ci95.map((end) => percent(end, 0)).join(' to ')})`,
    ],
    ['Margin paid', margin === null ? undefined : percent(margin)],
    [
      'Grades',
      Object.entries(grades)
        .filter(([, count]) => count > 0)
        .map(([band, count]) => `${count} ${band}`)
        .join(', ') || undefined,
    ],
    [
      'To be sure',
      needs.picks_for_95 === null
        ? undefined
        : `${counted(needs.picks_for_95, 'pick')} like these would show the edge at 95 %`,
    ],
  ]
  return element(
    'dl',
    { class: 'facts' },
    ...pairs.flatMap(([name, value]) =>
      value === undefined ? [] : [element('dt', {}, name), element('dd', {}, value)],
    ),
  )
}

/**
 * @param {Card} card
 * @param {number} index
 */
function cardRow(card, index) {
  const { pick, scoreboard } = card
  const { event, market, ref, selection } = pick
  const status = scoreboard?.status ?? 'pending'
  const title = event === undefined ? market : `${event.home} v ${event.away}`
  const letter =
    card.outcome === 'GRADED'
      ? element('span', { class: 'letter small', 'data-band': card.grade }, card.grade)
      : element('span', { class: 'hint' }, 'UNGRADED')
  const value =
    card.outcome === 'GRADED'
      ? signedPercent(card.clv.fair ?? card.clv.price)
      : UNGRADED_WORDS[card.reason.code]
  const prices =
    card.outcome === 'GRADED' ? `${number(card.taken.odds)} → ${number(card.close.odds)}` : '–'
  return element(
    'tr',
    {},
    element('td', { class: 'number' }, String(index + 1)),
    element('td', {}, letter),
    element(
      'th',
      { scope: 'row' },
      title,
      element(
        'small',
        {},
        `${marketWords(market)}: ${selectionWords(selection, event)}${ref === undefined ? '' : ` · ${ref}`}`,
      ),
    ),
    element('td', {}, element('span', { class: RESULT_TONES[status] }, RESULT_WORDS[status])),
    element('td', { class: 'number' }, value),
    element('td', { class: 'number' }, prices),
  )
}

/** @param {readonly Card[]} cards */
function cardTable(cards) {
  const body = element('tbody', {}, ...cards.slice(0, ROWS_FIRST).map(cardRow))
  const names = [
    ['Pick', 'number'],
    ['Grade', ''],
    ['Market', 'wide'],
    ['Result', ''],
    ['Value', 'number'],
    ['Taken → close', 'number'],
  ]
  const head = element(
    'tr',
    {},
    ...names.map(([name, kind]) => element('th', { scope: 'col', class: kind ?? '' }, name ?? '')),
  )
  const table = element(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'The cards' },
    element('table', {}, element('thead', {}, head), body),
  )
  if (cards.length <= ROWS_FIRST) return [table]
  const more = element('button', { type: 'button' }, `Show all ${cards.length}`)
  more.addEventListener('click', () => {
    body.append(...cards.slice(ROWS_FIRST).map((card, index) => cardRow(card, ROWS_FIRST + index)))
    more.remove()
  })
  return [table, more]
}

/**
 * @param {AuditAnswer} audit
 * @param {{ transaction?: string | undefined }} [options]
 */
export function auditView(audit, { transaction } = {}) {
  const isSynthetic = audit.picks.some(
    (card) => card.outcome === 'GRADED' && card.close.source.synthetic,
  )
  const note = element(
    'p',
    { class: 'note warn' },
    element('strong', {}, 'Synthetic data.'),
    ' Some of these closes were made up; they are no real markets.',
  )
  return element(
    'article',
    { class: 'grade-card', 'data-outcome': 'AUDIT' },
    ...(isSynthetic ? [note] : []),
    ...(audit.label === undefined ? [] : [element('p', { class: 'teams' }, audit.label)]),
    element(
      'div',
      { class: 'sides', role: 'group', 'aria-label': 'Two readings of one record' },
      roiSide(audit.raw_roi),
      scoreSide(audit.sharp_score),
    ),
    element('p', { class: 'said' }, audit.verdict),
    ...edgeAndLuck(audit.summary),
    auditFacts(audit),
    element('h3', {}, 'The cards'),
    ...cardTable(audit.picks),
    ...(transaction === undefined
      ? []
      : [
          element(
            'p',
            { class: 'hint' },
            'Paid in ',
            element('span', { class: 'mono' }, transaction),
          ),
        ]),
  )
}
