/**
 * Checks an audit from what it shows: its figures by adding up its cards, and each card's closing price by the ledger entry
 * that the card names. An audit's page runs this module in the reader's browser.
 */
import type { AuditAnswer } from '../wire/audit.ts'
import type { Card, GradedCard } from '../wire/cards.ts'
import type { PublicEntry } from '../wire/ledger.ts'
import type { EntryPrices } from './ledger-entry.ts'
import type { EntryCheck } from './verify-entry.ts'

/** A price on a card, and the entry it came from. */
type ShownClose = {
  readonly market: string
  readonly selection: string
  readonly book: string | undefined
  readonly odds: number
  readonly record: { readonly seq: number; readonly hash: string }
}

const isGraded = (card: Card): card is GradedCard => card.outcome === 'GRADED'

/** A market within its event. */
const pathOf = (market: string): string => market.split('/').slice(2).join('/')

/** The same market at another line: the last part of its key, before any participant. */
const atLine = (market: string, line: number): string =>
  market.replace(/\/[^/@]+(?=@|$)/, `/${line}`)

/** The recorded prices of a card: one, or those of its legs or halves. */
function shownCloses({ close, pick }: GradedCard): readonly ShownClose[] {
  const { legs, halves, record, source } = close
  const { selection } = pick
  if (legs !== undefined) return legs.map((leg) => ({ ...leg, book: undefined }))
  const { book } = source
  if (halves !== undefined)
    return halves.map((half) => ({
      market: atLine(pick.market, half.line),
      selection,
      book,
      odds: half.odds,
      record: half.record,
    }))
  return [{ market: pick.market, selection, book, odds: close.odds, record }]
}

/** Every entry that an audit's cards name, once each, with what the cards say about it. */
export function closesOf({ picks }: Pick<AuditAnswer, 'picks'>) {
  const closes = picks.filter(isGraded).flatMap(shownCloses)
  const bySeq = new Map<number, ShownClose[]>()
  for (const close of closes) {
    const known = bySeq.get(close.record.seq) ?? []
    known.push(close)
    bySeq.set(close.record.seq, known)
  }
  return [...bySeq].map(([seq, cards]) => ({ seq, cards }))
}

/** Whether a card has the price that its entry records; `hidden` if that price may not be public. */
export function checkClose(close: ShownClose, { entry, hash }: PublicEntry): EntryCheck['outcome'] {
  if (hash !== close.record.hash) return 'fails'
  if (entry === undefined) return 'hidden'
  const prices = (entry['prices'] ?? []) as readonly Partial<EntryPrices>[]
  const isRecorded = prices.some(
    ({ book, market, odds }) =>
      market === pathOf(close.market) &&
      (close.book === undefined || book === close.book) &&
      Number(odds?.[close.selection]) === close.odds,
  )
  return isRecorded ? 'holds' : 'fails'
}

/** Figures are sums of doubles: another order may change the last digits. */
const NEAR = 1e-9

const isNear = (one: number | null, other: number | null): boolean =>
  one === null || other === null
    ? one === other
    : Math.abs(one - other) <= NEAR * Math.max(1, Math.abs(one))

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0)
const mean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : sum(values) / values.length

/** The figures that the cards add up to, and whether the audit gives the same. */
export function sumsOf(
  audit: AuditAnswer,
): readonly { readonly name: string; readonly holds: boolean }[] {
  const { coverage, picks, raw_roi: roi, summary } = audit
  const graded = picks.filter(isGraded)
  const returns = picks.flatMap(({ scoreboard }) =>
    scoreboard === undefined || scoreboard.status === 'pending' || scoreboard.status === 'void'
      ? []
      : [scoreboard.return_units],
  )
  const values = graded.map(({ clv }) => clv.fair ?? clv.price)
  const sums = {
    'The cards add up to the coverage':
      coverage.picks === picks.length && coverage.graded === graded.length,
    'The cards’ returns add up to the raw return':
      isNear(roi.profit, sum(returns)) && isNear(roi.pct, mean(returns)),
    'The cards’ values have that mean': isNear(summary.mean_clv, mean(values)),
    'Each card’s value follows from its price and its probability': graded.every(
      ({ clv, close, taken }) =>
        clv.fair === undefined ||
        isNear(clv.fair, (taken.pays ?? taken.odds) * (close.fair_prob ?? Number.NaN) - 1),
    ),
  }
  return Object.entries(sums).map(([name, holds]) => ({ name, holds }))
}
