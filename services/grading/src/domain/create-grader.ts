/** The grader: cards, audits, receipts, calibration and coverage over one store. It keeps no state of its own but a memo. */

import type { CalibrationAnswer, CalibrationFilters } from '../wire/calibration.ts'
import type { Card, CardCalibration, CardCounting, GradedCard } from '../wire/cards.ts'
import type { CoverageAnswer } from '../wire/coverage.ts'
import type { PublicEntry } from '../wire/ledger.ts'
import { auditCards } from './audit-picks.ts'
import { closeStatus, coveredEvent } from './cover-market.ts'
import { countedPicks, refusalOf } from './event-contribution.ts'
import { eventPathOf } from './event-path-of.ts'
import type { EventState } from './event-state.ts'
import { ambiguousCard, type GradeContext, gradePick } from './grade-pick.ts'
import type { CoverageQuery, GradeRelease, Grader } from './grader.ts'
import type { GradingStore, StoredPick } from './grading-store.ts'
import { hasStarted } from './has-started.ts'
import { hexOf } from './hex-of.ts'
import { keepPaidPick, pickOfStored, type Randomness } from './keep-pick.ts'
import { keyTexts } from './market-key.ts'
import type { AskedPick, PickRequest } from './pick-request.ts'
import { publicView } from './public-view.ts'
import { publishedColumn, publishedRow } from './published-figures.ts'
import { resolveEvents } from './resolve-event.ts'
import { searchWords } from './search-words.ts'
import { calibrationColumn, calibrationRow, LOW_SAMPLE_BELOW } from './truth-rows.ts'
import { bandKey, SCOPE_ALL, SCOPE_SYNTHETIC, type TruthTable } from './truth-table.ts'

/** What a grader stands on. */
export type GraderDependencies = {
  readonly store: GradingStore
  /** Unix seconds. */
  readonly nowSeconds: () => number
  /** Random bytes, for receipts and salts. */
  readonly random: Randomness
}

/** Events that a search answers at most: a matchday of a big league. */
const CANDIDATES_MAX = 20
const SECONDS_PER_DAY = 86_400

const METHODOLOGY =
  'ROI of flat stakes on settled picks, by the band of their grade against the close; intervals are clustered by event. mechanical: every recorded price before the close, of every selection. committed: picks received and committed before their start. The two are never merged. Void bets are not counted. Figures are told to a unit of stake over their picks, so that no single price can be read from them.'

/** A band's figures for cards, worked out once per state of the ledger. */
function createCalibrationMemo() {
  let of: { readonly truth: TruthTable; readonly asOfSeq: number } | undefined
  const rows = new Map<string, CardCalibration>()
  return (truth: TruthTable) =>
    ({ band, basis, isSynthetic }: Parameters<GradeContext['calibration']>[0]): CardCalibration => {
      if (of?.truth !== truth || of.asOfSeq !== truth.asOfSeq) {
        rows.clear()
        of = { truth, asOfSeq: truth.asOfSeq }
      }
      const scope = isSynthetic ? SCOPE_SYNTHETIC : SCOPE_ALL
      const key = `${scope} ${basis} ${band}`
      const known = rows.get(key)
      if (known !== undefined) return known
      const population = 'mechanical'
      const sums = truth.bands.get(bandKey({ population, basis, scope, band }))
      const { n, roi, roi_ci95, expected_roi, low_sample } = publishedRow(
        calibrationRow(band, sums),
      )
      const as_of_seq = truth.asOfSeq
      const row: CardCalibration = {
        band,
        basis,
        population,
        scope,
        n,
        roi,
        roi_ci95,
        expected_roi,
        low_sample,
        as_of_seq,
      }
      rows.set(key, row)
      return row
    }
}

type Parts = GraderDependencies & {
  readonly calibrationOf: ReturnType<typeof createCalibrationMemo>
}

async function cardsOf(
  parts: Parts,
  asked: readonly AskedPick[],
  nowSeconds?: number,
): Promise<readonly Card[]> {
  const { store, calibrationOf } = parts
  const picks = await resolveEvents(store, asked)
  const paths = picks.map((pick) => (pick.kind === 'pick' ? keyTexts(pick.key).event : ''))
  const states = await store.events(paths)
  const figures = calibrationOf(await store.truth())
  return picks.map((pick, index) => {
    if (pick.kind === 'ambiguous') return ambiguousCard(pick)
    const state = states[index]
    const isLate =
      state !== undefined && nowSeconds !== undefined && hasStarted(state.info, nowSeconds)
    return gradePick(pick, { state, calibration: figures, isLate })
  })
}

async function cardOfOne(parts: Parts, pick: AskedPick, nowSeconds?: number): Promise<Card> {
  const [card] = await cardsOf(parts, [pick], nowSeconds)
  if (card === undefined) throw new Error('one pick gave no card')
  return card
}

const withFlag = (card: GradedCard): GradedCard =>
  card.flags.includes('received_after_start')
    ? card
    : { ...card, flags: [...card.flags, 'received_after_start'] }

/** Whether a kept pick counts, by all that the ledger knows now. */
async function countingOf(
  { store }: Parts,
  pick: StoredPick,
  state: EventState | undefined,
): Promise<CardCounting> {
  const { seq, opening } = pick
  if (seq === undefined) return { population: null, why: 'received_after_start' }
  if (state === undefined) return { population: null, why: 'no_recorded_price', seq }
  const why = refusalOf(state.info, pick)
  if (why !== undefined) return { population: null, why, seq }
  const all = await store.picksOf(eventPathOf(opening.market))
  const committed = all.flatMap((one) =>
    one.seq === undefined ? [] : [{ seq: one.seq, opening: one.opening }],
  )
  const isCounted = countedPicks(state.info, committed).some((one) => one.seq === seq)
  return isCounted
    ? { population: 'committed', seq }
    : { population: null, why: 'repeated_selection', seq }
}

async function finished(parts: Parts, card: Card, pick: StoredPick): Promise<Card> {
  const [state] = await parts.store.events([eventPathOf(pick.opening.market)])
  const counted = await countingOf(parts, pick, state)
  const isLate = counted.population === null && counted.why === 'received_after_start'
  const shown = isLate && card.outcome === 'GRADED' ? withFlag(card) : card
  return { ...shown, counted, receipt: pick.receipt }
}

async function release(parts: Parts, paid: GradeRelease): Promise<Card> {
  const [pick] = await resolveEvents(parts.store, [paid.pick])
  // A market that may be several names no event: there is nothing to commit to, and nothing that could change later.
  if (pick === undefined || pick.kind === 'ambiguous') return paid.card
  const kept = await keepPaidPick({ ...parts, paid, pick })
  return finished(parts, paid.card, kept)
}

async function cardOf(parts: Parts, receipt: string): Promise<Card | undefined> {
  const stored = await parts.store.pickByReceipt(receipt)
  if (stored === undefined) return undefined
  const pick: PickRequest = pickOfStored(stored)
  return finished(parts, await cardOfOne(parts, pick), stored)
}

async function calibration(
  { store }: Parts,
  filters: CalibrationFilters,
): Promise<CalibrationAnswer> {
  const [truth, head] = await Promise.all([store.truth(), store.head()])
  // A ledger with nothing but made-up closes answers with those, and says so in `scope`.
  const isReal = [...truth.lines.keys()].some((key) => key.endsWith(` ${SCOPE_ALL}`))
  const { scope = isReal || truth.lines.size === 0 ? SCOPE_ALL : SCOPE_SYNTHETIC } = filters
  const populations = ['mechanical', 'committed'] as const
  const bases = ['fair', 'price'] as const
  return {
    columns: populations
      .filter((population) => (filters.population ?? population) === population)
      .flatMap((population) =>
        bases
          .filter((basis) => (filters.basis ?? basis) === basis)
          .map((basis) => publishedColumn(calibrationColumn(truth, { population, basis, scope }))),
      ),
    scopes: [...new Set([...truth.lines.keys()].map((key) => key.split(' ')[2] ?? ''))].toSorted(),
    ledger: { as_of_seq: head.size, root: hexOf(head.rootHash) },
    low_sample_below: LOW_SAMPLE_BELOW,
    methodology: METHODOLOGY,
  }
}

async function coverage({ store }: Parts, query: CoverageQuery): Promise<CoverageAnswer> {
  if (query.kind === 'key') {
    const path = eventPathOf(query.market)
    const [state] = await store.events([path])
    const close = closeStatus(state, query.market.slice(path.length + 1))
    return { close, candidates: state === undefined ? [] : [coveredEvent(state)] }
  }
  const { sport, daySeconds, text } = query
  const infos = await store.searchEvents({
    ...(sport === undefined ? {} : { sport }),
    ...(daySeconds === undefined ? {} : { from: daySeconds, to: daySeconds + SECONDS_PER_DAY }),
    words: searchWords(text),
    limit: CANDIDATES_MAX,
  })
  const states = await store.events(infos.map(({ path }) => path))
  const candidates = states.flatMap((state) => (state === undefined ? [] : [coveredEvent(state)]))
  const closes = candidates.flatMap(({ markets }) => markets.map(({ close }) => close))
  const close = closes.includes('final') ? 'final' : closes.includes('pending') ? 'pending' : 'none'
  return { close, candidates }
}

async function publicEntry(parts: Parts, seq: number): Promise<PublicEntry | undefined> {
  const { store, nowSeconds } = parts
  const stored = await store.entry(seq)
  if (stored === undefined) return undefined
  const head = await store.head()
  const pick = stored.entry.type === 'pick' ? await store.pickBySeq(seq) : undefined
  const [state] =
    pick === undefined ? [undefined] : await store.events([eventPathOf(pick.opening.market)])
  const proof = await store.inclusionProof(seq, head.size)
  return {
    ...publicView(stored, { pick, info: state?.info, nowSeconds: nowSeconds() }),
    inclusion: { size: head.size, root: hexOf(head.rootHash), proof },
  }
}

/** Makes a grader. */
export function createGrader(dependencies: GraderDependencies): Grader {
  const parts: Parts = { ...dependencies, calibrationOf: createCalibrationMemo() }
  return {
    grade: (pick) => cardOfOne(parts, pick, parts.nowSeconds()),
    release: (paid) => release(parts, paid),
    audit: async ({ picks, label }) => auditCards(await cardsOf(parts, picks), label),
    cardOf: (receipt) => cardOf(parts, receipt),
    calibration: (filters) => calibration(parts, filters),
    coverage: (query) => coverage(parts, query),
    publicEntry: (seq) => publicEntry(parts, seq),
  }
}
