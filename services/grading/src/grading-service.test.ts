/** The service on a local X Layer, over HTTP: what money does. Rules about HTTP alone are in app.test.ts and the route tests. */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { systemClock } from '@tallystick/service-kit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Card } from './domain/card.ts'
import { ingestPayload } from './ingest/ingest-payload.ts'
import { manualUploadSchema, normaliseManualUpload } from './ingest/manual-upload.ts'
import { auditExample, gradeExample, uploadExample } from './routes/examples.ts'
import { OKX_CREDENTIALS, startOkxStandIn } from './testing/okx-stand-in.ts'
import { startServiceProcess } from './testing/service-process.ts'
import { startSlowFacilitator } from './testing/slow-facilitator.ts'
import {
  payingFetch,
  posted,
  type RunningService,
  signedPayment,
  startXLayerWorld,
  until,
  type XLayerWorld,
} from './testing/xlayer-world.ts'

let world: XLayerWorld
let service: RunningService

const readExample = () => [
  normaliseManualUpload(manualUploadSchema.parse(uploadExample), 1_780_400_000),
]

/** The example match, closed and settled, in a service's ledger. */
async function fill({ store }: Pick<RunningService, 'store'>): Promise<void> {
  const raw = Buffer.from(JSON.stringify(uploadExample))
  await ingestPayload({ store, raw, receivedAtSeconds: 1_780_400_000, read: readExample })
}

async function startFilled(name: string, change: Record<string, string | undefined> = {}) {
  const started = await world.startService(name, change)
  await fill(started)
  return started
}

/** An address where nobody listens any more. */
async function nowhere(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

beforeAll(async () => {
  world = await startXLayerWorld()
  service = await startFilled('main.db')
}, 120_000)
afterAll(() => world.stop(), 60_000)

const grade = (at: { readonly baseUrl: string }) => `${at.baseUrl}/api/grade`
const balanceOf = (name: string) => world.chain.controls.balanceOf(world.account(name).address)
const sign = (
  name: string,
  at: { readonly baseUrl: string } = service,
  body: unknown = gradeExample,
) => signedPayment(world, world.account(name), { url: grade(at), body })

/** Sends a grade with a signed payment and reads the answer. */
async function send(
  url: string,
  headers: Record<string, string>,
  body: unknown = gradeExample,
): Promise<{ status: number; card: Card & { error?: string }; headers: Headers; text: string }> {
  const answer = await fetch(url, posted(body, headers))
  const text = await answer.text()
  return { status: answer.status, card: JSON.parse(text), headers: answer.headers, text }
}

describe('the official, unmodified @x402/fetch client', () => {
  test('pays a cent for a grade: won, price worse than the close, a poor grade, on one card', async () => {
    const payer = world.account('agent-1')
    const [before, earned] = [await balanceOf('agent-1'), await balanceOf('operator')]
    const answer = await payingFetch(world, payer)(grade(service), posted(gradeExample))
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
    const answer = await payingFetch(world, world.account('agent-1'))(
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
    const answer = await payingFetch(world, world.account('agent-1'))(grade(service), posted(body))
    expect(await answer.json()).toMatchObject({ outcome: 'UNGRADED' })
    expect(await balanceOf('agent-1')).toBe(before - 10_000n)
  })

  test('malformed input is never asked for money', async () => {
    const before = await balanceOf('agent-1')
    const body = { pick: { ...gradeExample.pick, odds: 1 } }
    const answer = await payingFetch(world, world.account('agent-1'))(grade(service), posted(body))
    expect(answer.status).toBe(400)
    expect(await balanceOf('agent-1')).toBe(before)
  })
})

describe('one payment, one effect', () => {
  test('X7: 100 identical requests at once settle once and get the same card', async () => {
    const before = await balanceOf('agent-2')
    const headers = await sign('agent-2')
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => send(grade(service), headers)),
    )
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(200)
    expect(await balanceOf('agent-2')).toBe(before - 10_000n)
  })

  test('a used authorization sent again after a restart grades nothing new for free', async () => {
    const first = await startFilled('restart.db')
    const headers = await sign('agent-3', first)
    const paid = await send(grade(first), headers)
    expect(paid.status).toBe(200)
    const before = await balanceOf('agent-3')
    await first.stop()
    const second = await world.startService('restart.db')
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

  test('the same authorization a day later, when its answer is forgotten, is refused', async () => {
    const first = await startFilled('later.db')
    const headers = await sign('agent-3', first)
    expect((await send(grade(first), headers)).status).toBe(200)
    await first.stop()
    const later = { ...systemClock, unixMs: () => systemClock.unixMs() + 26 * 3_600_000 }
    const second = await world.startService('later.db', {}, later)
    const refused = await send(grade(second), headers)
    expect([refused.status, refused.card.error]).toEqual([402, 'payment_already_used'])
    expect((await second.store.counts()).picks).toBe(1)
    await second.stop()
  })

  test('X9: while a payer’s payment is unresolved, another one for the same is 502 payment_pending, unsettled', async () => {
    const slow = await startSlowFacilitator(world.facilitator.url)
    const waiting = await startFilled('pending.db', { FACILITATOR_URL: slow.url })
    const before = await balanceOf('agent-4')
    const [one, two] = [await sign('agent-4', waiting), await sign('agent-4', waiting)]
    const settled = slow.settled()
    const first = send(grade(waiting), one)
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

  test('without its chain too', async () => {
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

  test('G9: a token that signs under another name ends the start with a message', async () => {
    const { address } = world.chain.stablecoin
    const ended = await startServiceProcess(
      world.environment('wrong.db', { ASSET: `${address}/USDT0/1/6` }),
    ).ended
    expect(ended.code).toBe(1)
    expect(ended.errors).toMatch(/^Grades cannot be served: NETWORK, ASSET or LEDGER_RPC_URL/)
  })

  test('S4: its pages, reference, notes and metrics are there', async () => {
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

describe('kill -9 between the settlement and its answer', () => {
  test('G4, X9: the next start completes it; the payer’s same call gets the card, charged once', async () => {
    const filled = await startFilled('killed.db')
    await filled.stop()
    const slow = await startSlowFacilitator(world.facilitator.url)
    const first = startServiceProcess(world.environment('killed.db', { FACILITATOR_URL: slow.url }))
    const at = { baseUrl: await first.url() }
    const before = await balanceOf('agent-6')
    const headers = await signedPayment(world, world.account('agent-6'), {
      url: grade(at),
      body: gradeExample,
    })
    const settled = slow.settled()
    const lost = send(grade(at), headers).catch((error: unknown) => error)
    await settled
    first.kill('SIGKILL')
    expect((await first.ended).signal).toBe('SIGKILL')
    expect(await lost).toBeInstanceOf(Error)
    await slow.stop()

    const second = startServiceProcess(world.environment('killed.db'))
    const url = await second.url()
    await until(async () => /"outcome":"paid","msg":"resumed"/.test(second.output()))
    // Nobody has the answer yet, so that a client which signs anew gets it too, unsettled.
    const anew = await send(`${url}/api/grade`, await sign('agent-6', { baseUrl: url }))
    const answer = await send(`${url}/api/grade`, headers)
    expect([anew.status, anew.text]).toEqual([200, answer.text])
    expect([answer.status, answer.card]).toMatchObject([
      200,
      { grade: 'F', receipt: expect.any(String) },
    ])
    const receipt = String(answer.card.receipt)
    expect((await fetch(`${url}/api/picks/${receipt}`)).status).toBe(200)
    expect(await balanceOf('agent-6')).toBe(before - 10_000n)
    second.kill('SIGTERM')
    const ended = await second.ended
    expect(ended.code).toBe(0)
    expect(ended.output).not.toContain(String(headers['payment-signature']))
  })
})

describe('G8: The Odds API', () => {
  test('a service with a key polls its sports from the start; one that fails stops no other, and no log has the key', async () => {
    const asked: string[] = []
    const api = createHttpServer((request, response) => {
      asked.push(new URL(request.url ?? '', 'http://x').pathname)
      response.writeHead(asked.length === 1 ? 500 : 200).end('[]')
    }).listen(0, '127.0.0.1')
    await once(api, 'listening')
    const address = api.address()
    const polling = startServiceProcess(
      world.environment('polling.db', {
        ODDS_API_KEY: 'hunter2',
        ODDS_API_SPORTS: 'soccer_epl, baseball_mlb',
        ODDS_API_URL: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
      }),
    )
    const url = await polling.url()
    await until(async () =>
      (await (await fetch(`${url}/metrics`)).text()).includes(
        'grading_polls_total{outcome="done"} 1',
      ),
    )
    expect(asked).toEqual(['/v4/sports/soccer_epl/odds', '/v4/sports/baseball_mlb/odds'])
    polling.kill('SIGTERM')
    const { code, errors, output } = await polling.ended
    api.close()
    expect(code).toBe(0)
    expect(output).toContain('odds could not be polled')
    expect(output + errors).not.toContain('hunter2')
  })
})

describe('SIGTERM while a payment is under way', () => {
  test('S6: it is answered 502 payment_pending, the process ends 0 within 10 s, and the next start completes it', async () => {
    const filled = await startFilled('stopped.db')
    await filled.stop()
    const slow = await startSlowFacilitator(world.facilitator.url)
    const first = startServiceProcess(
      world.environment('stopped.db', { FACILITATOR_URL: slow.url }),
    )
    const at = { baseUrl: await first.url() }
    const headers = await sign('agent-8', at)
    const before = await balanceOf('agent-8')
    const settled = slow.settled()
    const waiting = send(grade(at), headers)
    await settled
    first.kill('SIGTERM')
    const answer = await waiting
    expect([answer.status, answer.card.error]).toEqual([502, 'payment_pending'])
    expect(await first.ended).toMatchObject({ code: 0, signal: null })
    await slow.stop()
    const second = startServiceProcess(world.environment('stopped.db'))
    const url = await second.url()
    const done = await send(`${url}/api/grade`, headers)
    expect([done.status, done.card.grade]).toEqual([200, 'F'])
    expect(await balanceOf('agent-8')).toBe(before - 10_000n)
    // The receipt opens the card to whoever has it: it is in no line of the log.
    const receipt = String(done.card.receipt)
    expect((await fetch(`${url}/api/picks/${receipt}`)).status).toBe(200)
    second.kill('SIGTERM')
    const { output } = await second.ended
    expect(output).toContain('/api/picks/')
    expect(output).not.toContain(receipt)
    expect(output).not.toContain(String(headers['payment-signature']))
  })
})

describe('OKX’s facilitator', () => {
  test('the service configured for it signs what OKX checks, and its payments settle', async () => {
    const okx = await startOkxStandIn(world.facilitator.url)
    const change = { FACILITATOR_URL: undefined, ...OKX_CREDENTIALS, OKX_URL: okx.url }
    const configured = await startFilled('okx.db', change)
    expect((await fetch(`${configured.baseUrl}/ready`)).status).toBe(200)
    const before = await balanceOf('agent-7')
    const answer = await payingFetch(world, world.account('agent-7'))(
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
    expect(okx.refused).toEqual(['50113'])
    await wrong.stop()
    await okx.stop()
  })
})
