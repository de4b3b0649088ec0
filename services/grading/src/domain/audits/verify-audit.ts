/**
 * Checks an audit from what it shows: its figures by adding up its cards, and each card's closing price by the ledger entry
 * that the card names. An audit's page runs this module in the reader's browser.
 */
import type { AuditAnswer, RecordFinding } from '../../wire/audit.ts'
import type { Card, GradedCard } from '../../wire/cards.ts'
import type { PublicEntry } from '../../wire/ledger.ts'
import { isUnconfirmed } from '../closes/far-price.ts'
import type { EntryPrices } from '../closes/ledger-entry.ts'
import type { EntryCheck } from '../closes/verify-entry.ts'
import { cardGroups, DIMENSIONS } from './audit-groups.ts'
import { recordFindings } from './record-findings.ts'

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
const marketWithin = (market: string): string => market.split('/').slice(2).join('/')

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
export function namedEntries({ picks }: Pick<AuditAnswer, 'picks'>) {
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
      market === marketWithin(close.market) &&
      (close.book === undefined || book === close.book) &&
      Number(odds?.[close.selection]) === close.odds,
  )
  return isRecorded ? 'holds' : 'fails'
}

/** Figures are sums of doubles: another order may change the last digits. */
const NEAR = 1e-9

const isNear = (left: number | null, right: number | null): boolean =>
  left === null || right === null
    ? left === right
    : Math.abs(left - right) <= NEAR * Math.max(1, Math.abs(left))

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)
const mean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : sum(values) / values.length

/** A card's return per unit, if it has a result other than void. */
const cardReturn = ({ scoreboard }: Card): readonly number[] =>
  scoreboard === undefined || scoreboard.status === 'pending' || scoreboard.status === 'void'
    ? []
    : [scoreboard.return_units]

const cardValue = ({ clv }: GradedCard): number => clv.fair ?? clv.price

/** The same at the stakes of the record. */
function sumsByStake(cards: readonly Card[], figures: AuditAnswer['by_stake']): boolean {
  const staked = cards.filter(({ pick }) => pick.own?.stake !== undefined)
  if (figures === null) return staked.length === 0
  const weigh = (read: (card: Card) => readonly number[]) =>
    staked.flatMap((card) =>
      read(card).map((value) => ({ stake: card.pick.own?.stake ?? 0, value })),
    )
  const weighted = (parts: ReturnType<typeof weigh>) => {
    const whole = sum(parts.map(({ stake }) => stake))
    const all = sum(parts.map(({ stake, value }) => stake * value))
    return { whole, all, mean: whole === 0 ? null : all / whole }
  }
  const returns = weighted(weigh(cardReturn))
  const values = weighted(weigh((card) => (isGraded(card) ? [cardValue(card)] : [])))
  return (
    figures.picks === staked.length &&
    isNear(figures.staked, returns.whole) &&
    isNear(figures.profit, returns.all) &&
    isNear(figures.pct, returns.mean) &&
    isNear(figures.mean_clv, values.mean)
  )
}

/** Whether the figures of each group are what its cards add up to. */
function groupsAddUp(cards: readonly Card[], breakdown: AuditAnswer['breakdown']): boolean {
  return DIMENSIONS.every((dimension) => {
    const rows = breakdown[dimension]
    const names = new Set(cards.map((card) => cardGroups(card)[dimension]))
    return (
      rows.length === names.size &&
      rows.every((row) => {
        const own = cards.filter((card) => cardGroups(card)[dimension] === row.name)
        const returns = own.flatMap(cardReturn)
        const graded = own.filter(isGraded)
        return (
          row.picks === own.length &&
          row.graded === graded.length &&
          row.staked === returns.length &&
          isNear(row.profit, sum(returns)) &&
          isNear(row.pct, mean(returns)) &&
          isNear(row.mean_clv, mean(graded.map(cardValue))) &&
          sumsByStake(own, row.by_stake)
        )
      })
    )
  })
}

const findingText = ({ kind, ledger, pick, stated }: RecordFinding): string =>
  [pick, kind, stated, ledger].join(' ')

/** The figures that the cards add up to, and whether the audit gives the same. */
export function checkSums(
  audit: AuditAnswer,
): readonly { readonly name: string; readonly holds: boolean }[] {
  const { breakdown, coverage, findings, picks, raw_roi: roi, summary } = audit
  const graded = picks.filter(isGraded)
  const unconfirmed = picks.flatMap((card, place) => (isUnconfirmed(card) ? [place] : []))
  const left = new Set([...coverage.duplicates, ...unconfirmed])
  const counted = picks.filter((_card, place) => !left.has(place))
  const covered = picks.filter((card) => !isUnconfirmed(card))
  const returns = counted.flatMap(cardReturn)
  const sums = {
    'The cards add up to the coverage':
      coverage.picks === covered.length &&
      coverage.graded === covered.filter(isGraded).length &&
      coverage.unconfirmed.join() === unconfirmed.join(),
    'The cards’ returns add up to the raw return':
      isNear(roi.profit, sum(returns)) && isNear(roi.pct, mean(returns)),
    'The cards’ values have that mean': isNear(
      summary.mean_clv,
      mean(counted.filter(isGraded).map(cardValue)),
    ),
    'Each card’s value follows from its price and its probability': graded.every(
      ({ clv, close, taken }) =>
        clv.fair === undefined ||
        isNear(clv.fair, (taken.pays ?? taken.odds) * (close.fair_prob ?? Number.NaN) - 1),
    ),
    'The cards add up to the figures weighted by stake': sumsByStake(counted, audit.by_stake),
    'The cards add up to the figures of each group': groupsAddUp(counted, breakdown),
    'The cards show each finding about the record':
      findings.map(findingText).join() === recordFindings(picks).map(findingText).join(),
  }
  return Object.entries(sums).map(([name, holds]) => ({ name, holds }))
}
