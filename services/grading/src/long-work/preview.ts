/** What would become of each pick of an audit: a free look before any payment, which shows neither a price nor a grade (G7). */

import type { SlateGrader } from '../domain/audits/slate-grader.ts'
import type { PricedCard } from '../domain/grading/combined-bets.ts'
import type { MatchChoice } from '../domain/markets/pick-request.ts'
import type { Place, ReadRow, Rows } from '../routes/read-picks.ts'
import type { Card, UngradedCode } from '../wire/cards.ts'
import type { PreviewAnswer, PreviewRow, RowCause } from '../wire/coverage.ts'
import type { WirePick } from '../wire/requests.ts'

/** CPU time that one look may take, ms: some hundreds of picks. */
const PREVIEW_CPU_MS_MAX = 50

/** Rows read and graded before the time is looked at. */
const ROWS_PER_SLICE = 25

export type PreviewGrader = Pick<
  SlateGrader,
  'preview' | 'asksPrice' | 'matchChoices' | 'lookFindings'
>

/** A resolved pick by its key, so that nothing has to be looked up again; a parlay as it came. */
function byKey(wire: WirePick, { market, selection }: Card['pick']): Record<string, unknown> {
  if ('legs' in wire) return wire
  const { line: _line, date: _date, starts_at: _start, ...rest } = wire
  const { league: _league, either_order: _order, ...bet } = rest
  return { ...bet, market, selection }
}

const shownPlace = ({ index, line, written }: Place) => ({
  pick: line === undefined ? index : undefined,
  line,
  written,
})

/** A name of several markets is a question: which of their keys is meant. */
function causeOfUngraded(
  { pick, wire }: Extract<ReadRow, { kind: 'asked' }>,
  code: UngradedCode,
): RowCause {
  if (code === 'placed_clock_unclear' && !('legs' in wire)) {
    const send = { ...wire, placed_at: wire.placed_at?.slice(0, 10) }
    const options = [{ label: 'it was placed before the start', send }]
    return { kind: 'question', code, field: 'placed_at', options }
  }
  if (pick.kind !== 'ambiguous' || 'legs' in wire) return { kind: 'not_gradable', code }
  const { line: _line, ...rest } = wire
  const options = pick.candidates.map((market) => ({ label: market, send: { ...rest, market } }))
  return { kind: 'question', code, field: 'market', options }
}

/** A price far from anything recorded, answered by one click: the same pick, confirmed. */
function priceQuestion(wire: WirePick, send: Record<string, unknown>): RowCause {
  const label = `Yes, ${wire.odds} was my price`
  const options = [{ label, send: { ...send, confirmed: true } }]
  return { kind: 'question', code: 'price_far_from_recorded', field: 'odds', options }
}

/** Which match a bet's names mean, answered by one click. */
function matchQuestion(wire: WirePick, choices: readonly MatchChoice[]): RowCause {
  const options = choices.map(({ label, market, selection }) => ({
    label,
    send: byKey(wire, { market, selection }),
  }))
  return { kind: 'question', code: 'ambiguous_market', field: 'event', options }
}

type Asked = { readonly isPriceAsked: boolean; readonly choices: readonly MatchChoice[] }

/** What is asked about a row before it can be graded. */
async function findQuestions(
  grader: PreviewGrader,
  row: ReadRow,
  priced: PricedCard | undefined,
): Promise<Asked> {
  if (row.kind !== 'asked' || priced === undefined) return { isPriceAsked: false, choices: [] }
  const { pick, wire } = row
  const { card } = priced
  if (card.outcome === 'GRADED') {
    const isPriceAsked = wire.confirmed !== true && (await grader.asksPrice(priced))
    return { isPriceAsked, choices: [] }
  }
  const isMatch = card.reason.code === 'ambiguous_market' && pick.kind === 'pick'
  return { isPriceAsked: false, choices: isMatch ? await grader.matchChoices(pick) : [] }
}

function previewRow(
  row: ReadRow,
  card: Card | undefined,
  { choices, isPriceAsked }: Asked,
): PreviewRow {
  const place = shownPlace(row)
  if (row.kind === 'faulty') {
    const { cause, issues } = row
    return { ...place, status: 'unreadable', cause, issues }
  }
  if (card === undefined) return { ...place, status: 'not_looked_at' }
  const { market, selection, event } = card.pick
  const known = { ...place, market, selection, event }
  if (row.repeats !== undefined) {
    const cause = { kind: 'not_gradable', code: 'same_bet' } as const
    return { ...known, status: 'repeated', cause, repeats: row.repeats.line }
  }
  if (card.outcome === 'GRADED' && isPriceAsked) {
    const cause = priceQuestion(row.wire, byKey(row.wire, card.pick))
    return { ...known, status: 'unconfirmed', cause }
  }
  if (card.outcome === 'GRADED') {
    const cause = { kind: 'graded', code: 'graded' } as const
    return { ...known, status: 'gradable', cause, send: byKey(row.wire, card.pick) }
  }
  const { reason } = card
  const cause =
    choices.length === 0 ? causeOfUngraded(row, reason.code) : matchQuestion(row.wire, choices)
  return { ...known, status: 'ungraded', cause, reason, send: row.wire }
}

/** Without what the ledger has: a look shows no price. */
const shownFindings = (
  findings: Awaited<ReturnType<SlateGrader['lookFindings']>>,
): Pick<PreviewRow, 'findings'> =>
  findings.length === 0
    ? {}
    : { findings: findings.map(({ kind, message, stated }) => ({ kind, message, stated })) }

const countRows = (rows: readonly PreviewRow[], status: PreviewRow['status']): number =>
  rows.filter((row) => row.status === status).length

/** Looks at rows until their time is spent, at least at one slice; the others are named. `spentMs` is CPU time. */
export async function previewAnswer(
  grader: PreviewGrader,
  { places, rows: unread }: Rows,
  spentMs: () => number,
): Promise<PreviewAnswer> {
  const shown: PreviewRow[] = []
  while (shown.length < places.length) {
    if (shown.length > 0 && spentMs() >= PREVIEW_CPU_MS_MAX) break
    const rows: ReadRow[] = []
    for (let next = unread.next(); next.done !== true; next = unread.next()) {
      rows.push(next.value)
      if (rows.length === ROWS_PER_SLICE) break
    }
    const askedRows = rows.flatMap((row) => (row.kind === 'asked' ? [row] : []))
    const cards = await grader.preview(askedRows.map(({ pick }) => pick))
    const byIndex = new Map(askedRows.map(({ index }, place) => [index, cards[place]]))
    for (const row of rows) {
      const priced = byIndex.get(row.index)
      const findings =
        priced === undefined || row.kind !== 'asked'
          ? []
          : await grader.lookFindings(priced, row.pick)
      const asks = await findQuestions(grader, row, priced)
      shown.push({ ...previewRow(row, priced?.card, asks), ...shownFindings(findings) })
    }
  }
  for (const place of places.slice(shown.length))
    shown.push({ ...shownPlace(place), status: 'not_looked_at' })
  return {
    picks: shown.length,
    gradable: countRows(shown, 'gradable'),
    ungraded: countRows(shown, 'ungraded'),
    unreadable: countRows(shown, 'unreadable'),
    unconfirmed: countRows(shown, 'unconfirmed'),
    repeated: countRows(shown, 'repeated'),
    not_looked_at: countRows(shown, 'not_looked_at'),
    rows: shown,
  }
}
