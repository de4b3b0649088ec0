/**
 * The service on a local X Layer, over HTTP: rules about money. Rules about HTTP alone are in app.test.ts and the route
 * tests; rules about a process that ends are in grading-process.test.ts.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { freePort, systemClock } from '@tallystick/service-kit'
import { evmSigner } from '@tallystick/x402/evm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  OKX_CREDENTIALS,
  startOkxStandIn,
  startSlowFacilitator,
} from './testing/facilitators.fixture.ts'
import { startGradingProcess } from './testing/grading-process.fixture.ts'
import {
  grade,
  payingFetch,
  posted,
  type RunningService,
  send,
  startXLayerFixture,
  type XLayerFixture,
  xlayerCalls,
} from './testing/xlayer.fixture.ts'
import { auditExample, gradeExample } from './wire/examples.ts'

let fixture: XLayerFixture
let service: RunningService

const { balanceOf, sign, startFilled } = xlayerCalls(() => fixture)

/** An address where nobody listens. */
const nowhere = async (): Promise<string> => `http://127.0.0.1:${await freePort()}`

beforeAll(async () => {
  fixture = await startXLayerFixture()
  service = await startFilled('main.db')
})
afterAll(() => fixture.stop())

describe('the official, unmodified @x402/fetch client', () => {
  test('pays a cent for a grade: won, price worse than the close, a poor grade, on one card', async () => {
    const payer = fixture.account('agent-1')
    const [before, earned] = [await balanceOf('agent-1'), await balanceOf('operator')]
    const answer = await payingFetch(fixture, payer)(grade(service), posted(gradeExample))
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      {
        outcome: 'GRADED',
        grade: 'F',
        clv: { beat_close: false },
        scoreboard: { status: 'won', score: '2-1' },
        counted: { population: null, why: 'received_after_start' },
      },
    ])
    expect(answer.headers.get('payment-response')).not.toBeNull()
    expect(await balanceOf('agent-1')).toBe(before - 10_000n)
    expect(await balanceOf('operator')).toBe(earned + 10_000n)
  })

  test('pays twenty cents for an audit: raw ROI beside a Sharp Score', async () => {
    const before = await balanceOf('agent-1')
    const answer = await payingFetch(fixture, fixture.account('agent-1'))(
      `${service.baseUrl}/api/audit`,
      posted(auditExample),
    )
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      {
        record: { won: 2, lost: 3 },
        sharp_score: { value: expect.any(Number) },
        coverage: { graded: 4, ungraded: 1 },
      },
    ])
    expect(await balanceOf('agent-1')).toBe(before - 200_000n)
  })

  test('G2: UNGRADED pays: the attempt was paid for', async () => {
    const before = await balanceOf('agent-1')
    const body = { pick: { ...gradeExample.pick, market: 'soccer/nowhere/1x2/ft' } }
    const answer = await payingFetch(fixture, fixture.account('agent-1'))(
      grade(service),
      posted(body),
    )
    expect(await answer.json()).toMatchObject({ outcome: 'UNGRADED' })
    expect(await balanceOf('agent-1')).toBe(before - 10_000n)
  })

  test('malformed input is never charged', async () => {
    const before = await balanceOf('agent-1')
    const body = { pick: { ...gradeExample.pick, odds: 1 } }
    const answer = await payingFetch(fixture, fixture.account('agent-1'))(
      grade(service),
      posted(body),
    )
    expect(answer.status).toBe(400)
    expect(await balanceOf('agent-1')).toBe(before)
  })
})

describe('one payment, one effect', () => {
  test('X7: 100 identical requests at once settle once and get the same card', async () => {
    const before = await balanceOf('agent-2')
    const headers = await sign('agent-2', service)
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => send(grade(service), headers)),
    )
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(200)
    expect(await balanceOf('agent-2')).toBe(before - 10_000n)
  })

  test('replaying a used authorization after a restart grades nothing new for free', async () => {
    const first = await startFilled('restart.db')
    const headers = await sign('agent-3', first)
    const paid = await send(grade(first), headers)
    expect(paid.status).toBe(200)
    const before = await balanceOf('agent-3')
    await first.stop()
    const second = await fixture.startService('restart.db')
    const again = await send(grade(second), headers)
    expect([again.status, again.text]).toEqual([200, paid.text])
    const other = { pick: { ...gradeExample.pick, odds: '1.91' } }
    const refused = await send(grade(second), headers, other)
    expect([refused.status, refused.card.error]).toEqual([402, 'payment_already_used'])
    expect((await second.store.counts()).picks).toBe(1)
    expect(await balanceOf('agent-3')).toBe(before)
    await second.stop()
    // A ledger that never saw the payment finds its nonce used (X10).
    const stranger = await startFilled('stranger.db')
    const foreign = await send(grade(stranger), headers)
    expect([foreign.status, foreign.card.error]).toEqual([402, 'payment_already_used'])
    expect((await stranger.store.counts()).picks).toBe(0)
    await stranger.stop()
  })

  test('the same authorization is refused a day later, when its answer is forgotten', async () => {
    const first = await startFilled('later.db')
    const headers = await sign('agent-3', first)
    expect((await send(grade(first), headers)).status).toBe(200)
    await first.stop()
    const later = { ...systemClock, unixMs: () => systemClock.unixMs() + 26 * 3_600_000 }
    const second = await fixture.startService('later.db', {}, later)
    const refused = await send(grade(second), headers)
    expect([refused.status, refused.card.error]).toEqual([402, 'payment_already_used'])
    expect((await second.store.counts()).picks).toBe(1)
    await second.stop()
  })

  test('X9: while a payer’s payment is unresolved, another for the same purchase is 502 payment_pending, unsettled', async () => {
    const slow = await startSlowFacilitator(fixture.facilitator.url)
    const waiting = await startFilled('pending.db', { FACILITATOR_URL: slow.url })
    const before = await balanceOf('agent-4')
    const [each, two] = [await sign('agent-4', waiting), await sign('agent-4', waiting)]
    const settled = slow.settled()
    const first = send(grade(waiting), each)
    await settled
    const second = await send(grade(waiting), two)
    expect([second.status, second.card.error]).toEqual([502, 'payment_pending'])
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0)
    slow.release()
    expect((await first).status).toBe(200)
    expect(await balanceOf('agent-4')).toBe(before - 10_000n)
    await waiting.stop()
    await slow.stop()
  })
})

describe('X16: what a payer can pay for', () => {
  test('a balance counts once for all payments under way: ten audits at once for the price of one', async () => {
    const privateKey = `0x${'5a'.repeat(32)}` as const
    const { address } = evmSigner({ privateKey })
    await fixture.chain.controls.mint(address, 200_000n)
    const poor = { name: 'poor', address, privateKey }
    const audits = Array.from({ length: 10 }, async (_none, index) => {
      const request = posted({ ...auditExample, label: `tips ${index}` })
      const answer = await payingFetch(fixture, poor)(`${service.baseUrl}/api/audit`, request)
      const { error } = (await answer.json()) as { readonly error?: string }
      return answer.status === 200 ? 'paid' : error
    })
    const ends = await Promise.all(audits)
    expect(ends.filter((end) => end === 'paid')).toHaveLength(1)
    expect(ends.filter((end) => end === 'insufficient_funds')).toHaveLength(9)
  })
})

describe('X19: two facilitators', () => {
  test.for(['first', 'second'] as const)('while the %s is down the other settles', async (down) => {
    const [up, nobody] = [fixture.facilitator.url, await nowhere()]
    const two = await startFilled(`two-${down}.db`, {
      FACILITATOR_URL: down === 'first' ? nobody : up,
      SECOND_FACILITATOR_URL: down === 'first' ? up : nobody,
    })
    const before = await balanceOf('agent-3')
    const payer = fixture.account('agent-3')
    const answer = await payingFetch(fixture, payer)(grade(two), posted(gradeExample))
    expect(answer.status).toBe(200)
    expect(await balanceOf('agent-3')).toBe(before - 10_000n)
    expect((await fetch(`${two.baseUrl}/ready`)).status).toBe(200)
    await two.stop()
  })
})

describe('what is down', () => {
  test('X9, X11: without its facilitator the service starts, says so on /ready, and answers 502, never 402', async () => {
    const alone = await startFilled('alone.db', { FACILITATOR_URL: await nowhere() })
    const ready = await fetch(`${alone.baseUrl}/ready`)
    expect([ready.status, await ready.json()]).toMatchObject([
      503,
      {
        checks: {
          facilitator: { kind: 'not-ready', reason: 'facilitator_down' },
          ledger: { kind: 'ready' },
          token: { kind: 'ready' },
        },
      },
    ])
    const before = await balanceOf('agent-5')
    const answer = await send(grade(alone), await sign('agent-5', alone))
    expect([answer.status, answer.card.error]).toEqual([502, 'facilitator_unavailable'])
    expect(await balanceOf('agent-5')).toBe(before)
    await alone.stop()
  })

  test('X23: a facilitator that turns settlements away stops challenges at every door, and /ready says how', async () => {
    const turning = createServer((socket) => {
      const supported = JSON.stringify({ kinds: [] })
      socket.once('data', (data) => {
        const isSettle = data.toString('latin1').startsWith('POST /settle')
        const [status, body] = isSettle ? ['404 Not Found', ''] : ['200 OK', supported]
        const head = `HTTP/1.1 ${status}\r\ncontent-length: ${body.length}\r\nconnection: close`
        socket.end(`${head}\r\n\r\n${body}`)
      })
    }).listen(0, '127.0.0.1')
    await once(turning, 'listening')
    const address = turning.address()
    const port = typeof address === 'object' ? address?.port : 0
    const away = await startFilled('away.db', { FACILITATOR_URL: `http://127.0.0.1:${port}` })
    expect((await send(grade(away), {})).status).toBe(402)
    const paying = send(grade(away), await sign('agent-5', away))
    const readiness = async () => await (await fetch(`${away.baseUrl}/ready`)).json()
    await expect.poll(readiness).toMatchObject({
      checks: {
        facilitator: {
          reason: 'facilitator_turns_away',
          details: { sentence: expect.stringContaining('status 404') },
        },
      },
    })
    const unpaid = await send(grade(away), {})
    expect([unpaid.status, unpaid.card.error]).toEqual([502, 'facilitator_turns_away'])
    expect(Number(unpaid.headers.get('retry-after'))).toBeGreaterThan(0)
    const probe = await fetch(grade(away), { method: 'POST' })
    expect(probe.status).toBe(502)
    await away.stop()
    expect((await paying).status).toBe(502)
    turning.close()
  })

  test('so it does without its chain', async () => {
    const blind = await startFilled('blind.db', { LEDGER_RPC_URL: await nowhere() })
    const ready = await fetch(`${blind.baseUrl}/ready`)
    expect(await ready.json()).toMatchObject({
      checks: { token: { kind: 'not-ready', reason: 'chain_unavailable' } },
    })
    const answer = await send(grade(blind), await sign('agent-5', blind))
    expect([answer.status, answer.card.error]).toEqual([502, 'ledger_unavailable'])
    const calibration = await fetch(`${blind.baseUrl}/api/calibration`, { method: 'POST' })
    expect(calibration.status).toBe(200)
    await blind.stop()
  })

  test('G9: a token with another signing name ends the start with a message', async () => {
    const { address } = fixture.chain.stablecoin
    const ended = await startGradingProcess(
      fixture.environment('wrong.db', { ASSET: `${address}/USDT0/1/6` }),
    ).ended
    expect(ended.code).toBe(1)
    expect(ended.errors).toMatch(/^Grades cannot be served: NETWORK, ASSET or LEDGER_RPC_URL/)
  })

  test('S4: its pages, reference, notes and metrics are served', async () => {
    for (const [path, says] of [
      ['/', 'Tallystick'],
      ['/calibration', '<html'],
      ['/try', '$0.01'],
      ['/method', '<html'],
      ['/docs', '<html'],
      ['/llms.txt', '/api/coverage'],
      ['/metrics', 'grading_ledger_events 1'],
      ['/openapi.json', '"3.1.0"'],
    ] as const) {
      const answer = await fetch(service.baseUrl + path)
      expect([path, answer.status]).toEqual([path, 200])
      expect(await answer.text()).toContain(says)
    }
  })

  test('everything is ready', async () => {
    const ready = await fetch(`${service.baseUrl}/ready`)
    expect([ready.status, await ready.json()]).toMatchObject([200, { ready: true }])
  })
})

describe('OKX’s facilitator', () => {
  test('the service configured for it signs as OKX requires, and its payments settle', async () => {
    const okx = await startOkxStandIn(fixture.facilitator.url)
    const change = { FACILITATOR_URL: undefined, ...OKX_CREDENTIALS, OKX_URL: okx.url }
    const configured = await startFilled('okx.db', change)
    expect((await fetch(`${configured.baseUrl}/ready`)).status).toBe(200)
    const before = await balanceOf('agent-7')
    const answer = await payingFetch(fixture, fixture.account('agent-7'))(
      grade(configured),
      posted(gradeExample),
    )
    expect(answer.status).toBe(200)
    expect(await balanceOf('agent-7')).toBe(before - 10_000n)
    expect(okx.seen).toEqual(['GET /supported', 'POST /settle'])
    await configured.stop()
    const wrong = await startFilled('okx.db', { ...change, OKX_SECRET_KEY: 'another secret' })
    const refused = await send(grade(wrong), await sign('agent-7', wrong))
    expect([refused.status, refused.card.error]).toEqual([502, 'facilitator_unavailable'])
    expect(okx.refused.filter((requested) => requested.includes('POST'))).toEqual([
      '50113 POST /settle',
    ])
    await wrong.stop()
    await okx.stop()
  })
})
