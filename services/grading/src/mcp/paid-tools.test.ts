/** G10, X20: what the tools of `/mcp` answer, what they cost, and that one payment buys one effect at either door. */
import { hash } from 'node:crypto'
import { array, assert as assertProperty, asyncProperty, constantFrom } from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createHttpFixture,
  type HttpFixture,
  httpCalls,
  withPick,
} from '../testing/http.fixture.ts'
import { auditExample, gradeExample } from '../wire/examples.ts'
import { asHeader, mcpCalls, paymentObject } from './mcp.fixture.ts'

let fixture: HttpFixture
const { post, upload } = httpCalls(() => fixture)
const { call, post: postMessage } = mcpCalls(() => fixture)
let payments = 1_000

beforeAll(async () => {
  fixture = await createHttpFixture()
  fixture.clock.advanceMs(2 * 86_400_000)
  await upload()
})
afterAll(() => fixture.app.close())

/** A payment of its own payer. */
const pay = (cents: 1 | 20) => {
  payments += 1
  const payer = `0x${payments.toString(16).padStart(40, '0')}`
  return paymentObject(fixture.payment(cents, payments, payer))
}

const base64 = (payment: object): string => Buffer.from(JSON.stringify(payment)).toString('base64')

describe('the free tools answer what their routes answer', () => {
  test('coverage, of one match and of picks, without a price', async () => {
    const query = { sport: 'soccer', text: 'arsenal chelsea' }
    const { structuredContent } = await call('coverage', query)
    expect(structuredContent).toEqual((await post('/api/coverage', query)).json())
    const picks = await call('coverage', { picks: auditExample.picks })
    expect(picks.structuredContent).toMatchObject({ picks: 5, gradable: 4 })
    expect(picks.content[0]?.text).toBe(JSON.stringify(picks.structuredContent))
  })

  test('calibration and read_pick', async () => {
    const table = await call('calibration')
    expect(table.structuredContent).toEqual((await post('/api/calibration', {})).json())
    const sold = await call('grade_pick', gradeExample, pay(1))
    const { receipt } = sold.structuredContent as { readonly receipt: string }
    expect((await call('read_pick', { receipt })).structuredContent).toMatchObject({ receipt })
    expect(await call('read_pick', { receipt: 'none' })).toMatchObject({
      isError: true,
      structuredContent: { error: 'not_found' },
    })
  })

  test('a payment sent with a free tool is ignored, never settled', async () => {
    const before = fixture.settlements
    expect((await call('calibration', {}, pay(1))).isError).toBeUndefined()
    expect(fixture.settlements).toBe(before)
  })

  test('an address has one allowance of looks for both doors', async () => {
    const { clock } = fixture
    clock.advanceMs(60_000)
    for (let look = 0; look < 30; look += 1) {
      await call('coverage', { picks: auditExample.picks })
      await post('/api/coverage', { picks: auditExample.picks })
    }
    expect(await call('coverage', { picks: auditExample.picks })).toMatchObject({
      isError: true,
      structuredContent: { error: 'too_many_requests', retryAfterSeconds: 60 },
    })
    clock.advanceMs(60_000)
  })
})

describe('X20: an unpaid call', () => {
  test.for([
    ['grade_pick', gradeExample, '10000'],
    ['audit_picks', auditExample, '200000'],
    ['grade_pick', undefined, '10000'],
  ] as const)('%s answers the challenge in three places', async ([name, input, amount]) => {
    const { _meta, content, isError, structuredContent } = await call(name, input)
    expect(isError).toBe(true)
    expect(structuredContent).toMatchObject({
      x402Version: 2,
      resource: { url: 'https://grading.example/mcp', serviceName: 'Tallystick Grading' },
      accepts: [{ amount }],
      extensions: { bazaar: { info: { input: { type: 'mcp', toolName: name } } } },
    })
    expect(JSON.parse(content[0]?.text ?? '')).toEqual(structuredContent)
    expect(_meta?.['x402/error']).toEqual(structuredContent)
  })

  test('G3: malformed arguments are named before any challenge, with or without a payment', async () => {
    const before = fixture.settlements
    const wrong = withPick({ odds: '1.0', oods: 2 })
    for (const payment of [undefined, pay(1)]) {
      const refused = await call('grade_pick', wrong, payment)
      expect(refused).toMatchObject({
        isError: true,
        structuredContent: { error: 'invalid_request' },
      })
      expect(JSON.stringify(refused)).toContain('arguments.pick.oods')
      expect(refused._meta).toBeUndefined()
    }
    expect(fixture.settlements).toBe(before)
  })

  test('X20: a member that the SDK leaves out of its own copy is named too: what is hashed is what arrived', async () => {
    const before = fixture.settlements
    const payment = JSON.stringify(pay(1))
    const passed = JSON.stringify(gradeExample).replace('{', '{"__proto__":{"odds":1},')
    const { answer } = await postMessage(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"grade_pick","arguments":${passed},"_meta":{"x402/payment":${payment}}}}`,
    )
    expect(answer.result).toMatchObject({
      isError: true,
      structuredContent: { error: 'invalid_request' },
    })
    expect(JSON.stringify(answer.result)).toContain('arguments.__proto__')
    expect(fixture.settlements).toBe(before)
  })

  test('a payment for nothing is not settled', async () => {
    const before = fixture.settlements
    for (const nothing of [undefined, {}])
      expect(await call('grade_pick', nothing, pay(1))).toMatchObject({
        structuredContent: { error: 'invalid_request' },
      })
    expect(fixture.settlements).toBe(before)
  })
})

describe('X20: a paid call', () => {
  test.for([
    ['an object', (payment: object): unknown => payment],
    ['base64', base64],
  ] as const)('takes the payment as %s', async ([, form]) => {
    const payment = form(pay(1))
    const sold = await call('grade_pick', gradeExample, payment)
    expect(sold.isError).toBeUndefined()
    expect(sold.structuredContent).toMatchObject({ outcome: 'GRADED', grade: 'F' })
    expect(JSON.parse(sold.content[0]?.text ?? '')).toEqual(sold.structuredContent)
    expect(sold._meta?.['x402/payment-response']).toMatchObject({ success: true })
    const again = await call('grade_pick', gradeExample, payment)
    expect(again.content).toEqual(sold.content)
  })

  test('is bound to the tool and its arguments', async () => {
    const payment = pay(20)
    await call('audit_picks', auditExample, payment)
    const used = { isError: true, structuredContent: { error: 'payment_already_used' } }
    const other = { ...auditExample, label: 'Other tips' }
    expect(await call('audit_picks', other, payment)).toMatchObject(used)
    // A grade costs less, so the payment of an audit does not even match.
    expect(await call('grade_pick', gradeExample, payment)).toMatchObject({
      isError: true,
      structuredContent: { error: 'payment_requirements_mismatch' },
    })
  })

  test('X18: comes with a receipt and our statement of the text’s SHA-256', async () => {
    const sold = await call('grade_pick', gradeExample, pay(1))
    const settlement = sold._meta?.['x402/payment-response'] as {
      readonly extensions: Record<string, { info: Record<string, { signature: string }> }>
    }
    expect(settlement.extensions['offer-receipt']?.info['receipt']).toMatchObject({ format: 'jws' })
    const jws = settlement.extensions['tallystick-answer']?.info['statement']?.signature ?? ''
    const [, statement = ''] = jws.split('.')
    expect(JSON.parse(Buffer.from(statement, 'base64url').toString())).toMatchObject({
      resourceUrl: 'https://grading.example/mcp',
      answerSha256: hash('sha256', sold.content[0]?.text ?? ''),
    })
  })

  test('while the facilitator or the chain is down the result is no challenge', async () => {
    fixture.facilitator = 'unreachable'
    const down = await call('grade_pick', gradeExample, pay(1))
    fixture.facilitator = 'up'
    expect(down).toMatchObject({ structuredContent: { error: 'facilitator_unavailable' } })
    expect(down._meta).toBeUndefined()
    fixture.isChainDown = true
    const unread = await call('grade_pick', gradeExample, pay(1))
    fixture.isChainDown = false
    expect(unread).toMatchObject({ structuredContent: { error: 'ledger_unavailable' } })
    fixture.isTokenWrong = true
    const unknown = await call('grade_pick', gradeExample, pay(1))
    fixture.isTokenWrong = false
    expect(unknown).toMatchObject({ structuredContent: { error: 'payment_terms_unknown' } })
  })
})

type Door = 'route' | 'tool with an object' | 'tool with base64'

/** What came of one payment at one door: the text of the answer, or why there is none. */
async function through(door: Door, payment: object): Promise<{ text?: string; error?: string }> {
  if (door === 'route') {
    const answer = await post('/api/grade', gradeExample, asHeader(payment))
    if (answer.statusCode === 200) return { text: answer.body }
    return { error: answer.json().error }
  }
  const form = door === 'tool with base64' ? base64(payment) : payment
  const { content, isError, structuredContent } = await call('grade_pick', gradeExample, form)
  return isError === true
    ? { error: String(structuredContent?.['error']) }
    : { text: content[0]?.text ?? '' }
}

describe('G10: the same job behind both doors', () => {
  test('one payment through both doors at once buys one effect', async () => {
    const doors = constantFrom<Door>('route', 'tool with an object', 'tool with base64')
    await assertProperty(
      asyncProperty(array(doors, { minLength: 2, maxLength: 8 }), async (order) => {
        const payment = pay(1)
        const before = fixture.settlements
        const { picks } = await fixture.store.counts()
        const answers = await Promise.all(order.map((door) => through(door, payment)))
        expect(fixture.settlements).toBe(before + 1)
        expect((await fixture.store.counts()).picks).toBe(picks + 1)
        const texts = new Set(answers.flatMap(({ text }) => text ?? []))
        expect(texts.size).toBe(1)
        const errors = answers.flatMap(({ error }) => error ?? [])
        expect(errors).toEqual(errors.map(() => 'payment_already_used'))
      }),
      { numRuns: 40 },
    )
  })

  test('what one door has sold, the other does not sell again for the same payment', async () => {
    const payment = pay(1)
    const before = fixture.settlements
    expect((await through('tool with base64', payment)).text).toBeDefined()
    expect(await through('route', payment)).toEqual({ error: 'payment_already_used' })
    const other = pay(1)
    expect((await through('route', other)).text).toBeDefined()
    expect(await through('tool with an object', other)).toEqual({ error: 'payment_already_used' })
    expect(fixture.settlements).toBe(before + 2)
  })

  test('X7: wrong bodies at one door lock out only their sender, at either', async () => {
    const payment = pay(1)
    const sold = await through('route', payment)
    for (let guess = 0; guess < 8; guess += 1)
      await fixture.app.inject({
        method: 'POST',
        url: '/api/grade',
        remoteAddress: '192.0.2.9',
        payload: withPick({ odds: `1.${91 + guess}` }),
        headers: asHeader(payment),
      })
    expect(await through('route', payment)).toEqual(sold)
  })
})
