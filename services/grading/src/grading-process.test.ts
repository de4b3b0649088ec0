/** The service as a process on a local X Layer: killed, stopped and restarted amid payments, and polling by itself. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startSlowFacilitator } from './testing/facilitators.fixture.ts'
import { startGradingProcess } from './testing/grading-process.fixture.ts'
import {
  grade,
  send,
  startXLayerFixture,
  until,
  type XLayerFixture,
  xlayerCalls,
} from './testing/xlayer.fixture.ts'

let fixture: XLayerFixture
const { balanceOf, sign, startFilled } = xlayerCalls(() => fixture)

beforeAll(async () => {
  fixture = await startXLayerFixture()
})
afterAll(() => fixture.stop())

describe('kill -9 between the settlement and its answer', () => {
  test('G4, X9: the next start completes it; the payer’s same call gets the card, charged once', async () => {
    const filled = await startFilled('killed.db')
    await filled.stop()
    const slow = await startSlowFacilitator(fixture.facilitator.url)
    const first = startGradingProcess(
      fixture.environment('killed.db', { FACILITATOR_URL: slow.url }),
    )
    const at = { baseUrl: await first.url() }
    const before = await balanceOf('agent-6')
    const headers = await sign('agent-6', at)
    const settled = slow.settled()
    const lost = send(grade(at), headers).catch((error: unknown) => error)
    await settled
    first.kill('SIGKILL')
    expect((await first.ended).signal).toBe('SIGKILL')
    expect(await lost).toBeInstanceOf(Error)
    await slow.stop()

    const second = startGradingProcess(fixture.environment('killed.db'))
    const url = await second.url()
    await until(async () => /"outcome":"paid","msg":"resumed"/.test(second.output()))
    // Nobody has the answer yet, so a client that signs again gets it too, without a settlement.
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
  test('a service with a key polls its sports from the start; a failing sport does not stop the others, and no log has the key', async () => {
    const requested: string[] = []
    const api = createServer((request, response) => {
      requested.push(new URL(request.url ?? '', 'http://x').pathname)
      response.writeHead(requested.length === 1 ? 500 : 200).end('[]')
    }).listen(0, '127.0.0.1')
    await once(api, 'listening')
    const address = api.address()
    const polling = startGradingProcess(
      fixture.environment('polling.db', {
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
    expect(requested).toEqual(['/v4/sports/soccer_epl/odds', '/v4/sports/baseball_mlb/odds'])
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
    const slow = await startSlowFacilitator(fixture.facilitator.url)
    const first = startGradingProcess(
      fixture.environment('stopped.db', { FACILITATOR_URL: slow.url }),
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
    const second = startGradingProcess(fixture.environment('stopped.db'))
    const url = await second.url()
    const done = await send(`${url}/api/grade`, headers)
    expect([done.status, done.card.grade]).toEqual([200, 'F'])
    expect(await balanceOf('agent-8')).toBe(before - 10_000n)
    // Anyone with the receipt can open the card: no log line has it.
    const receipt = String(done.card.receipt)
    expect((await fetch(`${url}/api/picks/${receipt}`)).status).toBe(200)
    second.kill('SIGTERM')
    const { output } = await second.ended
    expect(output).toContain('/api/picks/')
    expect(output).not.toContain(receipt)
    expect(output).not.toContain(String(headers['payment-signature']))
  })
})
