/** S6: one id leads from a payment's request line through its settlement to its window on the ledger, and back. */
import { afterEach, describe, expect, test } from 'vitest'
import { readTransactionId } from './testing/fake-payments.ts'
import {
  AGENT,
  createFakes,
  type Fakes,
  type LogLine,
  paymentHeader,
  START_SECONDS,
  startFakeService,
} from './testing/fake-service.ts'

let fakes: Fakes
let service: Awaited<ReturnType<typeof startFakeService>>

afterEach(() => service.close())

const url = `/api/svc/access?agent=${AGENT}`

/** A service that logs, with a challenge that has been taken. */
async function startLogged() {
  fakes = createFakes()
  service = await startFakeService(fakes)
  service.start()
  await expect.poll(async () => (await service.app.inject(url)).statusCode).toBe(402)
  const challenge = (await service.app.inject(url)).json()
  fakes.lines.length = 0
  const payment = { nanos: 1, validFromSeconds: START_SECONDS, memo: `x402:${AGENT}` }
  return { headers: paymentHeader(challenge, payment) }
}

const findLines = (id: unknown): readonly LogLine[] =>
  fakes.lines.filter(({ reqId }) => reqId === id)

describe('S6: a payment is followed by the id of its request', () => {
  test('one search finds the request, the settlement, the window and the end of the work', async () => {
    const { headers } = await startLogged()
    const answer = await service.app.inject({ url, headers })
    expect(answer.statusCode).toBe(200)
    const settlement = JSON.parse(
      Buffer.from(String(answer.headers['payment-response']), 'base64').toString(),
    )
    const found = findLines(answer.headers['x-request-id'])
    expect(found.map(({ msg }) => msg)).toEqual(['settled', 'opened', 'fulfilled', 'request'])
    expect(found[0]).toMatchObject({ transaction: settlement.transaction })
    expect(found[1]).toMatchObject({
      transactionHash: answer.json().metering.recordedOnChain,
      paymentReference: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    expect(found[3]).toMatchObject({ status: 200 })
  })

  test('what the contract would refuse is one line with its reason and the request’s id', async () => {
    const { headers } = await startLogged()
    fakes.sender.refusal = 'AccessWindow_NotForwarder'
    const answer = await service.app.inject({ url, headers })
    expect(answer.json()).toEqual({ error: 'forward_refused' })
    const found = findLines(answer.headers['x-request-id'])
    expect(found.map(({ msg }) => msg)).toEqual(['the contract would refuse a purchase', 'request'])
    expect(found[0]).toMatchObject({
      level: 'error',
      agent: AGENT,
      reason: 'AccessWindow_NotForwarder',
    })
    expect(fakes.facilitator.settled).toEqual([])
  })

  test('what is completed in the background has the id of the request that began it', async () => {
    const { headers } = await startLogged()
    fakes.facilitator.mode = 'silent'
    const paying = service.app.inject({ url, headers })
    await expect.poll(() => fakes.lines.some(({ msg }) => msg === 'in_doubt')).toBe(true)
    fakes.clock.advanceMs(12_000)
    const first = await paying
    expect(first.statusCode).toBe(502)
    const payment = { nanos: 1, validFromSeconds: START_SECONDS }
    fakes.scheme.landed.add(readTransactionId(payment))
    fakes.facilitator.mode = 'settle'
    await expect
      .poll(() => {
        fakes.clock.advanceMs(10_000)
        return fakes.lines.some(({ msg }) => msg === 'fulfilled')
      })
      .toBe(true)
    const id = first.headers['x-request-id']
    const found = findLines(id).map(({ msg }) => msg)
    expect(found).toEqual(expect.arrayContaining(['request', 'in_doubt', 'found', 'opened']))
    expect(found.at(-1)).toBe('fulfilled')
  })
})
