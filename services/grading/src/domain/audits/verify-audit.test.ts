import { expect, test } from 'vitest'
import { createGraderFixture } from '../../testing/grader.fixture.ts'
import {
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePick,
  samplePrices,
  scored,
} from '../../testing/samples.fixture.ts'
import type { AuditAnswer } from '../../wire/audit.ts'
import type { PublicEntry } from '../../wire/ledger.ts'
import { checkClose, checkSums, namedEntries } from './verify-audit.ts'

const HIDDEN = { feed: 'secret', isRedistributable: false, isSynthetic: false }
const other = sampleEvent({ path: 'soccer/epl.20260601.liv-mun', home: 'Liverpool' })
const lines = ['-0.5', '-1'].map((line) =>
  samplePrices({ market: `ah/ft/${line}`, odds: { home: '2.3', away: '1.65' } }),
)

/** An audit of single picks, a quarter line from its halves, a parlay and a hidden close, as it is sent. */
async function audited() {
  const { store, grader } = createGraderFixture()
  const outcomes = scored(2, 1)
  await store.ingest(
    sampleBatch([sampleObservation({ closes: [samplePrices(), ...lines], outcomes })]),
  )
  await store.ingest(
    sampleBatch([sampleObservation({ event: other, closes: [samplePrices()], outcomes })], {
      feed: HIDDEN,
    }),
  )
  const [home, away] = [
    samplePick(),
    samplePick({ market: `${other.path}/1x2/ft`, selection: 'away' }),
  ]
  const quarter = samplePick({ market: 'soccer/epl.20260601.ars-che/ah/ft/-0.75', odds: '2.6' })
  const parlay = {
    kind: 'parlay',
    legs: [home, away],
    odds: home.odds,
    options: home.options,
  } as const
  const unknown = samplePick({ market: 'soccer/none/1x2/ft' })
  const answer = await grader.audit({ picks: [home, away, quarter, parlay, unknown] })
  const audit = JSON.parse(JSON.stringify(answer)) as AuditAnswer
  const makeEntry = async (seq: number): Promise<PublicEntry> => {
    const entry = await grader.publicEntry(seq)
    if (entry === undefined) throw new Error('the ledger lacks an entry')
    return JSON.parse(JSON.stringify(entry))
  }
  return { audit, makeEntry }
}

test('G5: an audit’s figures are what its cards add up to; one changed figure is found', async () => {
  const { audit } = await audited()
  expect(checkSums(audit).filter(({ holds }) => !holds)).toEqual([])
  const changed: AuditAnswer = { ...audit, raw_roi: { ...audit.raw_roi, profit: 99 } }
  expect(checkSums(changed).filter(({ holds }) => !holds)).toHaveLength(1)
  const [first, ...rest] = audit.picks
  if (first?.outcome !== 'GRADED') throw new Error('the first pick has no grade')
  const bent = { ...first, clv: { ...first.clv, fair: 0.5 } }
  expect(checkSums({ ...audit, picks: [bent, ...rest] }).some(({ holds }) => !holds)).toBe(true)
})

test('every closing price of an audit is in the entry that its card names: halves and legs too, hidden ones said so', async () => {
  const { audit, makeEntry } = await audited()
  const outcomes = await Promise.all(
    namedEntries(audit).map(async ({ seq, cards }) => {
      const entry = await makeEntry(seq)
      return cards.map((close) => checkClose(close, entry))
    }),
  )
  expect(outcomes.flat().toSorted()).toEqual([
    'hidden',
    'hidden',
    'holds',
    'holds',
    'holds',
    'holds',
  ])
})

test('an attack: a card with another price, or with the hash of another entry, fails', async () => {
  const { audit, makeEntry: makeEntryHere } = await audited()
  const [first] = namedEntries(audit)
  const [close] = first?.cards ?? []
  if (first === undefined || close === undefined) throw new Error('the audit has no close')
  const entry = await makeEntryHere(first.seq)
  expect(checkClose({ ...close, odds: 9 }, entry)).toBe('fails')
  expect(checkClose({ ...close, book: 'other' }, entry)).toBe('fails')
  expect(checkClose({ ...close, record: { ...close.record, hash: '00' } }, entry)).toBe('fails')
})
