/** G3, row by row: the answer to malformed input, before any challenge, with and without a payment. Nothing is charged. */
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createHttpFixture,
  type HttpFixture,
  httpCalls,
  withPick,
} from '../testing/http.fixture.ts'
import { gradeExample } from '../wire/examples.ts'

let fixture: HttpFixture
const { refused } = httpCalls(() => fixture)

beforeAll(async () => {
  fixture = await createHttpFixture()
  fixture.clock.advanceMs(2 * 86_400_000)
})
afterAll(() => fixture.app.close())

const JSON_TYPE = { 'content-type': 'application/json' }
const pick = gradeExample.pick
const without = (field: keyof typeof pick) => ({
  pick: Object.fromEntries(Object.entries(pick).filter(([name]) => name !== field)),
})

describe('G3: 400: a grade', () => {
  test.each([
    { row: 'not JSON', payload: '{"pick":', code: 'malformed_json' },
    { row: 'NaN, which is not JSON', payload: '{"pick":{"odds":NaN}}', code: 'malformed_json' },
    {
      row: 'a body that poisons prototypes',
      payload: '{"__proto__":{"pick":1}}',
      code: 'malformed_json',
    },
  ])('$row', async ({ payload, code }) => {
    const { status, body } = await refused('grade', { payload, headers: JSON_TYPE })
    expect([status, body]).toEqual([400, { error: code }])
  })

  test.each([
    { row: 'a list', payload: '[]', field: 'body' },
    { row: 'a text', payload: '"pick"', field: 'body' },
    { row: 'a number', payload: '1', field: 'body' },
    { row: 'null', payload: 'null', field: 'body' },
  ])('a body that is not a JSON object: $row', async ({ payload, field }) => {
    const { status, body } = await refused('grade', { payload, headers: JSON_TYPE })
    expect([status, body]).toEqual([
      400,
      { error: 'invalid_request', issues: [{ field, expected: 'a JSON object with pick' }] },
    ])
  })

  test.each([
    { row: 'a missing pick', payload: { options: {} }, field: 'body.pick' },
    { row: 'a missing market', payload: without('market'), field: 'body.pick.market' },
    { row: 'a missing selection', payload: without('selection'), field: 'body.pick.selection' },
    { row: 'missing odds', payload: without('odds'), field: 'body.pick.odds' },
    { row: 'an unknown field', payload: { ...gradeExample, tip: 1 }, field: 'body.tip' },
    { row: 'an unknown field of the pick', payload: withPick({ od: 2 }), field: 'body.pick.od' },
    {
      row: 'an unknown field of the market',
      payload: withPick({ market: { sport: 'soccer', event: 'x', type: '1x2', lane: 1 } }),
      field: 'body.pick.market.lane',
    },
    {
      row: 'an unknown option',
      payload: { ...gradeExample, options: { devig: 'power' } },
      field: 'body.options.devig',
    },
    {
      row: 'an unknown method',
      payload: { ...gradeExample, options: { method: 'magic' } },
      field: 'body.options.method',
    },
    {
      row: 'an unknown basis',
      payload: { ...gradeExample, options: { basis: 'best' } },
      field: 'body.options.basis',
    },
    {
      row: 'a line policy that would make up a close',
      payload: { ...gradeExample, options: { line_policy: 'nearest' } },
      field: 'body.options.line_policy',
    },
    {
      row: 'an unknown market type',
      payload: withPick({ market: 'soccer/epl.20260601.ars-che/corners/ft' }),
      field: 'body.pick.market.type',
    },
    {
      row: 'an unknown market type in parts',
      payload: withPick({ market: { sport: 'soccer', event: 'a', type: 'corners' } }),
      field: 'body.pick.market.type',
    },
    {
      row: 'a key of too few parts',
      payload: withPick({ market: 'soccer' }),
      field: 'body.pick.market',
    },
    {
      row: 'a market type named like a member of every object',
      payload: withPick({ market: 'soccer/a/constructor/ft' }),
      field: 'body.pick.market.type',
    },
    {
      row: 'a selection that the market does not have',
      payload: withPick({ selection: 'over' }),
      field: 'body.pick.selection',
    },
    {
      row: 'a line for a market without lines',
      payload: withPick({ line: 2.5 }),
      field: 'body.pick.line',
    },
    {
      row: 'a line that is not a quarter',
      payload: withPick({ market: 'soccer/a/total/ft', selection: 'over', line: 2.3 }),
      field: 'body.pick.line',
    },
    { row: 'odds of 1', payload: withPick({ odds: 1 }), field: 'body.pick.odds' },
    { row: 'odds below 1', payload: withPick({ odds: 0.5 }), field: 'body.pick.odds' },
    { row: 'odds of 0', payload: withPick({ odds: '0' }), field: 'body.pick.odds' },
    { row: 'negative odds', payload: withPick({ odds: -2 }), field: 'body.pick.odds' },
    { row: 'odds of NaN', payload: withPick({ odds: 'NaN' }), field: 'body.pick.odds' },
    { row: 'odds of 1e308', payload: withPick({ odds: 1e308 }), field: 'body.pick.odds' },
    { row: 'odds of 1e308 as text', payload: withPick({ odds: '1e308' }), field: 'body.pick.odds' },
    { row: 'an unknown odds format', payload: withPick({ odds: '2:1' }), field: 'body.pick.odds' },
    { row: 'American odds below 100', payload: withPick({ odds: '-50' }), field: 'body.pick.odds' },
    { row: 'odds that are a list', payload: withPick({ odds: [2] }), field: 'body.pick.odds' },
    { row: 'odds of null', payload: withPick({ odds: null }), field: 'body.pick.odds' },
    {
      row: 'a time without a zone',
      payload: withPick({ placed_at: '2026-06-01T18:00:00' }),
      field: 'body.pick.placed_at',
    },
    { row: 'a stake of 0', payload: withPick({ stake: 0 }), field: 'body.pick.stake' },
    { row: 'an empty ref', payload: withPick({ ref: '' }), field: 'body.pick.ref' },
    {
      row: 'a ref of 81 characters',
      payload: withPick({ ref: 'x'.repeat(81) }),
      field: 'body.pick.ref',
    },
    { row: 'a lone surrogate', payload: withPick({ ref: '\ud800' }), field: 'body.pick.ref' },
    { row: 'half a runner', payload: withPick({ field_size: 7.5 }), field: 'body.pick.field_size' },
  ])('$row: names $field and what was expected', async ({ payload, field }) => {
    const { status, body } = await refused('grade', { payload })
    expect([status, body.error]).toEqual([400, 'invalid_request'])
    expect(body.issues.map((issue: { field: string }) => issue.field)).toEqual([field])
    expect(body.issues[0].expected).toMatch(/^\S.{3,}/)
  })

  test('1e999, which JSON reads as infinity, is not a price', async () => {
    const payload = JSON.stringify(withPick({ odds: 2 })).replace(':2}', ':1e999}')
    const { status, body } = await refused('grade', { payload, headers: JSON_TYPE })
    expect([status, body.issues[0].field]).toEqual([400, 'body.pick.odds'])
  })

  test('every fault is named at once', async () => {
    const { body } = await refused('grade', { payload: withPick({ odds: 1, line: 2, x: 0 }) })
    expect(body.issues.map((issue: { field: string }) => issue.field)).toEqual(['body.pick.x'])
    const second = await refused('grade', { payload: withPick({ odds: 1, line: 2 }) })
    expect(second.body.issues.map((issue: { field: string }) => issue.field)).toEqual([
      'body.pick.odds',
      'body.pick.line',
    ])
  })

  test.each(['', ' ', 'two words', 'x'.repeat(256), 'é', 'a\u007f'])(
    'an Idempotency-Key of 1 to 255 visible ASCII characters, not %j',
    async (key) => {
      const { status, body } = await refused('grade', {
        payload: gradeExample,
        headers: { 'idempotency-key': key },
      })
      expect([status, body.issues[0].field]).toEqual([400, 'header.idempotency-key'])
    },
  )
})

describe('413 and 415', () => {
  test('a body over the limit', async () => {
    const grade = await refused('grade', { payload: withPick({ ref: 'x'.repeat(9_000) }) })
    expect([grade.status, grade.body]).toEqual([413, { error: 'payload_too_large' }])
    const audit = await refused('audit', { payload: { picks: ['x'.repeat(1_100_000)] } })
    expect(audit.status).toBe(413)
  })

  test('a body declared as something other than JSON', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml']) {
      const { status, body } = await refused('grade', {
        payload: JSON.stringify(gradeExample),
        headers: { 'content-type': type },
      })
      expect([status, body]).toEqual([415, { error: 'unsupported_media_type' }])
    }
  })

  test('a body without a content type is read as JSON', async () => {
    await fixture.app.listen({ host: '127.0.0.1', port: 0 })
    const address = fixture.app.server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const status = async (body: string): Promise<string> =>
      await new Promise((resolve, reject) => {
        const socket = connect(port, '127.0.0.1')
        let text = ''
        socket.on('data', (chunk) => (text += chunk.toString('latin1')))
        socket.on('end', () => resolve(text.slice(9, 12)))
        socket.on('error', reject)
        socket.write(
          `POST /api/grade HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        )
      })
    expect(await status(JSON.stringify(gradeExample))).toBe('402')
    expect(await status(JSON.stringify(withPick({ odds: 1 })))).toBe('400')
    expect(await status('pick')).toBe('400')
    expect(await status('')).toBe('402')
  })
})
