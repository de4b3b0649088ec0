/** A bettor's own results, stakes and closing lines beside the ledger, from a file to the audit (G22). */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readPicks } from '../../routes/read-picks.ts'
import { createGraderFixture } from '../../testing/grader.fixture.ts'
import {
  sampleBatch,
  sampleEvent,
  sampleObservation,
  samplePrices,
  scored,
} from '../../testing/samples.fixture.ts'
import type { AuditAnswer } from '../../wire/audit.ts'
import { auditAnswerSchema } from '../../wire/audit.ts'
import { DEFAULT_GRADE_OPTIONS } from '../markets/pick-request.ts'
import { FREE_TOLERANCE, findDifferences, freeTolerance } from './record-findings.ts'
import { checkSums } from './verify-audit.ts'

const HIDDEN = { feed: 'football-data', isRedistributable: false, isSynthetic: false }

/** Arsenal beat Chelsea 2-1 at a close of 2.05, 3.55, 3.90; Liverpool v Fulham is not over. */
async function ledger() {
  const fixture = createGraderFixture()
  const later = sampleEvent({
    path: 'soccer/epl.20260602.liv-ful',
    home: 'Liverpool',
    away: 'Fulham',
    startAtSeconds: sampleEvent().startAtSeconds + 86_400,
  })
  const total = samplePrices({ market: 'total/ft/2.5', odds: { over: '1.9', under: '1.98' } })
  await fixture.store.ingest(
    sampleBatch(
      [
        sampleObservation({ closes: [samplePrices(), total], outcomes: scored(2, 1) }),
        sampleObservation({ event: later, closes: [samplePrices()] }),
      ],
      { feed: HIDDEN },
    ),
  )
  return fixture
}

const COLUMNS = 'Date,League,Home,Away,Market,Selection,Odds'
const ARSENAL = '2026-06-01,EPL,Arsenal,Chelsea,1X2,Arsenal,2.2'

function readPicksFor(header: string, rows: readonly string[]) {
  const csv = [`${COLUMNS}${header}`, ...rows].join('\n')
  const read = readPicks({ csv }, DEFAULT_GRADE_OPTIONS)
  if (read.kind === 'unreadable') throw new Error(read.issues[0]?.expected)
  return [...read.rows].map((row) => {
    if (row.kind !== 'asked') throw new Error(row.issues[0]?.field)
    return row.pick
  })
}

/** An audit as its page gets it. */
async function makeAudit(header: string, rows: readonly string[]): Promise<AuditAnswer> {
  const { grader } = await ledger()
  const audit = await grader.audit({ picks: readPicksFor(header, rows) })
  const sent = auditAnswerSchema.parse(JSON.parse(JSON.stringify(audit)))
  expect(checkSums(sent).filter(({ holds }) => !holds)).toEqual([])
  return sent
}

describe('G22: a record’s own columns are compared with the ledger', () => {
  test.for([
    ['a W on a won bet', ',Result', `${ARSENAL},W`, []],
    ['an L on a won bet', ',Result', `${ARSENAL},L`, ['result']],
    ['a push on a won bet', ',Bet Result', `${ARSENAL},Push`, ['result']],
    ['a void bet that was played', ',Status', `${ARSENAL},SETTLED_VOID`, ['result']],
    ['a W on a lost bet', ',W/L', '2026-06-01,EPL,Arsenal,Chelsea,1X2,Chelsea,4,win', ['result']],
    [
      'a result before the ledger has one',
      ',Result',
      '2026-06-02,EPL,Liverpool,Fulham,1X2,1,2.2,W',
      [],
    ],
    ['words that are no result', ',Result', `${ARSENAL},2-1`, []],
    ['the recorded close', ',Closing Odds', `${ARSENAL},2.05`, []],
    ['a close within two per cent', ',Closing Line', `${ARSENAL},2.09`, []],
    ['the close without its margin', ',Closing Line', `${ARSENAL},2.087`, []],
    ['another close', ',Closing Line', `${ARSENAL},1.85`, ['closing_odds']],
    ['another close, in American odds', ',Closing Odds (US)', `${ARSENAL},-150`, ['closing_odds']],
    [
      'a closing total in place of a price',
      ',Closing Line',
      '2026-06-01,EPL,Arsenal,Chelsea,Over/Under 2.5,Over 2.5,1.95,3.5',
      [],
    ],
    ['a profit that fits', ',Stake,Result,Profit', `${ARSENAL},10,W,12`, []],
    ['a profit after commission', ',Stake,Result,Profit/Loss (£)', `${ARSENAL},10,W,11.40`, []],
    ['a profit with its stake', ',Stake,Result,Profit', `${ARSENAL},10,W,22`, ['profit']],
    ['a profit on a lost bet', ',Stake,Result,P/L', `${ARSENAL},$10,L,$12.00`, ['result']],
    [
      'a loss of more than the stake',
      ',Stake,Result,P/L',
      `${ARSENAL},10,L,-20`,
      ['result', 'profit'],
    ],
    ['a profit by the ledger’s result', ',Stake,Profit', `${ARSENAL},10,-10`, ['profit']],
  ] as const)('%s: %s', async ([, header, row, kinds]) => {
    const { findings, picks } = await makeAudit(header, [row])
    expect(findings.map(({ kind }) => kind)).toEqual(kinds)
    expect(picks[0]?.outcome).toBe('GRADED')
  })

  test('they never change a grade, whatever they say', async () => {
    const { grader } = await ledger()
    const results = ['W', 'L', 'P', 'void', 'hw', '??', '']
    const numbers = fc.constantFrom('10', '-10', '0', '$1,250.00', '1.01', '99', 'n/a', '')
    const [plain] = (await grader.audit({ picks: readPicksFor('', [ARSENAL]) })).picks
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...results),
        fc.array(numbers, { minLength: 3, maxLength: 3 }),
        async (result, [stake = '', profit = '', closing = '']) => {
          const row = `${ARSENAL},${[result, `"${stake}"`, `"${profit}"`, closing].join()}`
          const picks = readPicksFor(',Result,Stake,Profit,Closing Odds', [row])
          const [card] = (await grader.audit({ picks })).picks
          expect(card).toEqual({ ...plain, pick: { ...plain?.pick, own: card?.pick.own } })
        },
      ),
      { numRuns: 60 },
    )
  })

  test('in JSON a closing price in an unclear notation is asked about, like any price', () => {
    const pick = { market: 'soccer/epl.20260601.ars-che/1x2/ft', selection: 'home', odds: '2.2' }
    const rows = readPicks({ picks: [{ ...pick, closing_odds: '110' }] }, DEFAULT_GRADE_OPTIONS)
    if (rows.kind !== 'rows') throw new Error(rows.kind)
    expect([...rows.rows]).toMatchObject([
      { kind: 'faulty', issues: [{ field: 'body.picks[0].closing_odds' }] },
    ])
  })
})

describe('G16: an audit by groups and by stakes, beside the flat figures', async () => {
  const rows = [
    `${ARSENAL},30,bet365`,
    '2026-06-01,EPL,Arsenal,Chelsea,1X2,Chelsea,4,10,Betfair',
    '2026-06-01,EPL,Arsenal,Chelsea,Over/Under 2.5,Over 2.5,1.95,,bet365',
    '2026-06-02,EPL,Liverpool,Fulham,1X2,Liverpool,2.1,20,bet365',
  ]
  const audit = await makeAudit(',Stake,Bookmaker', rows)

  test('stakes weigh the second figures alone; both are of the ledger’s results', async () => {
    expect(audit.raw_roi).toMatchObject({ staked: 3, events: 1 })
    expect(audit.raw_roi.profit).toBeCloseTo(1.2 - 1 + 0.95, 12)
    expect(audit.by_stake).toMatchObject({ picks: 3, staked: 40 })
    expect(audit.by_stake?.profit).toBeCloseTo(30 * 1.2 - 10, 12)
    expect(audit.by_stake?.pct).toBeCloseTo(26 / 40, 12)
    expect((await auditWithout()).by_stake).toBeNull()
  })
  const auditWithout = () => makeAudit('', [ARSENAL])

  test('by sport, market, book, month and odds', () => {
    const names = Object.fromEntries(
      Object.entries(audit.breakdown).map(([dimension, groups]) => [
        dimension,
        groups.map(({ name, picks }) => `${picks} ${name}`),
      ]),
    )
    expect(names).toEqual({
      sport: ['4 soccer'],
      market: ['3 1x2', '1 total'],
      book: ['3 bet365', '1 Betfair'],
      month: ['4 2026-06'],
      odds: ['2 2 to 3', '1 1.5 to 2', '1 3 to 5'],
    })
    expect(audit.breakdown.book[0]).toMatchObject({ graded: 3, staked: 2 })
    expect(audit.breakdown.book[0]?.by_stake).toMatchObject({ picks: 2, staked: 30 })
  })

  test('G17: the intervals of groups and stakes count an event once', async () => {
    // One event has no interval, however many bets are on it.
    expect([audit.raw_roi.ci95, audit.by_stake?.ci95]).toEqual([null, null])
    expect(audit.breakdown.sport[0]?.ci95).toBeNull()
  })

  test('G5: a changed figure of a group, of a stake or of a finding does not add up', () => {
    const [group, ...others] = audit.breakdown.market
    if (group === undefined || audit.by_stake === null) throw new Error('no groups')
    const bent: readonly AuditAnswer[] = [
      { ...audit, by_stake: { ...audit.by_stake, profit: 99 } },
      { ...audit, breakdown: { ...audit.breakdown, market: [{ ...group, profit: 9 }, ...others] } },
      { ...audit, breakdown: { ...audit.breakdown, book: [] } },
      {
        ...audit,
        findings: [{ pick: 0, kind: 'result', stated: 'won', ledger: 'lost', message: '' }],
      },
    ]
    for (const each of bent) expect(checkSums(each).filter(({ holds }) => !holds)).toHaveLength(1)
  })
})

describe('G14: a free look tells a wrong closing price, and gives no hidden price away', async () => {
  const { grader } = await ledger()
  const [pick] = readPicksFor('', [ARSENAL])
  if (pick === undefined) throw new Error('no pick')
  const [priced] = await grader.preview([pick])
  if (priced === undefined) throw new Error('no card')
  const { card } = priced

  const toldAt = async (price: number): Promise<number> =>
    (await grader.lookFindings(priced, { ...pick, own: { closing_odds: price } })).length

  test('what is far off is told, what is near is not, and the limits differ by price and side', async () => {
    const fair = card.outcome === 'GRADED' ? (card.close.fair_odds ?? 0) : 0
    expect(await toldAt(fair * (1 + FREE_TOLERANCE.max + 0.001))).toBe(1)
    expect(await toldAt(2.05 / (1 + FREE_TOLERANCE.max + 0.001))).toBe(1)
    expect(await toldAt(2.05 * (1 + FREE_TOLERANCE.min - 0.001))).toBe(0)
    const limits = ['0000ffff', 'ffff0000', '80008000'].map(freeTolerance)
    expect(new Set(limits.flatMap(({ above, below }) => [above, below])).size).toBe(3)
  })

  test('an audit tells the same price by the narrow limit', () => {
    expect(findDifferences(card, { closing_odds: 2.14 })).toMatchObject([{ ledger: '2.05' }])
  })
})
