/** Bodies made to cost more to refuse than to grade: what is done with them is counted, since time depends on the machine. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createHttpFixture, type HttpFixture } from '../testing/http.fixture.ts'
import { gradeExample } from '../wire/examples.ts'
import { isCrowded } from './read-body.ts'
import { readSale } from './sale-job.ts'

let fixture: HttpFixture

beforeAll(async () => {
  fixture = await createHttpFixture()
})
afterAll(() => fixture.app.close())

const { pick } = gradeExample
const members = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, 1]))

const copies = <Value>(count: number, value: Value) => Array.from({ length: count }, () => value)
const called = (name: string, input: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: input },
})

describe('G3, attack: 430 KB of unknown members are not even parsed', () => {
  const crowd = members(40_000)
  test.each([
    { door: '/api/audit', row: 'in one pick', payload: { picks: [crowd] } },
    { door: '/api/coverage', row: 'in one pick', payload: { picks: [crowd] } },
    { door: '/api/coverage', row: 'beside the picks', payload: { picks: [pick], ...crowd } },
    { door: '/api/audit', row: 'in a market', payload: { picks: [{ ...pick, market: crowd }] } },
    {
      door: '/api/audit',
      row: 'as legs of a parlay',
      payload: { picks: [{ legs: copies(40_000, {}), odds: 2 }] },
    },
    { door: '/mcp', row: 'of coverage', payload: called('coverage', { picks: [crowd] }) },
    { door: '/mcp', row: 'of an audit', payload: called('audit_picks', { picks: [crowd] }) },
  ])('$door, $row', async ({ door, payload }) => {
    const text = JSON.stringify(payload)
    const parse = vi.spyOn(JSON, 'parse')
    const response = await fixture.app.inject({
      method: 'POST',
      url: door,
      payload: text,
      headers: { 'content-type': 'application/json' },
    })
    const parsed = parse.mock.calls.filter(([passed]) => passed.length === text.length)
    parse.mockRestore()
    expect([response.statusCode, parsed.length]).toEqual([400, 0])
    expect(response.body).toMatch(/at most 32768 colons and brackets|too many members/)
  })
})

test.each([{ arguments: members(30_000) }, { arguments: {}, _meta: members(30_000) }])(
  'attack: 30,000 members of a call of a tool are refused before any is copied',
  async (params) => {
    const { body, statusCode } = await fixture.app.inject({
      method: 'POST',
      url: '/mcp',
      payload: { ...called('audit_picks', {}), params: { name: 'audit_picks', ...params } },
    })
    expect([statusCode, body]).toEqual([400, expect.stringContaining('too many members')])
  },
)

describe('attack: naming the faults never costs more than the work', () => {
  let looks = 0
  /** An object that counts who looks at its members. */
  const watched = (count: number) =>
    Object.defineProperties(
      {},
      Object.fromEntries(
        Object.keys(members(count)).map((name) => [
          name,
          { enumerable: true, configurable: true, get: () => (looks += 1) },
        ]),
      ),
    )

  test.each([
    { row: 'a pick', body: (crowd: object) => ({ picks: [crowd] }), field: 'body.picks[0]' },
    {
      row: 'a market',
      body: (crowd: object) => ({ picks: [{ ...pick, market: crowd }] }),
      field: 'body.picks[0]',
    },
    {
      row: 'an audit',
      body: (crowd: object) => Object.defineProperty(crowd, 'picks', { value: [pick] }),
      field: 'body',
    },
    {
      row: 'its options',
      body: (crowd: object) => ({ picks: [pick], options: crowd }),
      field: 'body',
    },
  ])('of the 30,000 members of $row some 256 are looked at', ({ body, field }) => {
    looks = 0
    const issues = [{ field, expected: 'at most 256 members' }]
    expect(readSale('audit', body(watched(30_000)))).toEqual({ kind: 'malformed', issues })
    expect(looks).toBeLessThanOrEqual(257)
  })

  test('of a thousand parlays of twenty faulty legs the first ten or so are read', () => {
    let read = 0
    const parlay = {
      legs: copies(20, { market: {} }),
      get odds() {
        read += 1
        return 2
      },
    }
    const sale = readSale('audit', { picks: copies(1_000, parlay) })
    const issues = sale.kind === 'malformed' ? sale.issues.length : 0
    expect(issues).toBeGreaterThan(1_000)
    expect(issues).toBeLessThan(1_000 + 256)
    // Each is counted, and read as a pick and as a parlay.
    expect(read).toBeLessThan(50)
  })

  test('the longest real parlay is read, and a thousand picks with every member', () => {
    const market = { sport: 'soccer', event: 'a', type: '1x2', period: 'ft', participant: 'a' }
    const leg = { market, selection: 'home', line: 1, odds: 2, date: '2026-06-01' }
    const rest = { odds: 2, placed_at: '2026-06-01T18:00:00Z', stake: 1, book: 'a', ref: 'a' }
    const read = readSale('grade', { pick: { legs: copies(20, leg), ...rest } })
    expect(read.kind === 'malformed' && read.issues[0]?.expected).not.toBe('at most 256 members')
    const each = { places: 3, fraction: '1/5' }
    const fractions = { rule4_deduction: 0.1, reduction_factor: 0.1 }
    const full = { ...leg, ...rest, ...fractions, field_size: 9, each_way: each }
    const text = JSON.stringify({ picks: copies(1_000, full), label: 'a' })
    expect(isCrowded(Buffer.from(text))).toBe(false)
  })
})
