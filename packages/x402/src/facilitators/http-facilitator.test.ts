import { freePort, manualClock } from '@tallystick/service-kit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PaymentPayload } from '../payment.ts'
import { NETWORK, START_MS, standInTerms } from '../testing/hedera-stand-in.fixture.ts'
import { type ScriptedServer, scriptedServer } from '../testing/scripted-server.fixture.ts'
import { createHttpFacilitator, type Facilitator } from './facilitator.ts'

const [requirement] = standInTerms().requirements
if (requirement === undefined) throw new Error('no requirement')
const accepted = requirement
const payload: PaymentPayload = { x402Version: 2, payload: { transaction: 'AA==' }, accepted }
const clock = manualClock(START_MS)
let server: ScriptedServer
let facilitator: Facilitator

beforeAll(async () => {
  server = await scriptedServer()
  facilitator = createHttpFacilitator({ url: `${server.url}/`, clock })
})
afterAll(async () => {
  await server.close()
})

const settle = (): Promise<unknown> => facilitator.settle(payload, accepted)
function answer(status: number, json: unknown): void {
  server.answer = { status, body: typeof json === 'string' ? json : JSON.stringify(json) }
}

describe('POST /settle', () => {
  test('sends payload and requirement once, and returns the settlement', async () => {
    server.requests.length = 0
    const settlement = { success: true, transaction: '0.0.5001@1.000000001', network: NETWORK }
    answer(200, { ...settlement, payer: '0.0.9001', extra: { status: 'x' } })
    expect(await settle()).toEqual({ ...settlement, payer: '0.0.9001' })
    expect(server.requests).toEqual([
      {
        method: 'POST',
        url: '/settle',
        body: { x402Version: 2, paymentPayload: payload, paymentRequirements: accepted },
      },
    ])
    expect(clock.pendingCount()).toBe(0)
  })

  test('accepts the specification’s transactionId for transaction', async () => {
    answer(200, { success: true, transactionId: '0.0.5001@1.1', network: NETWORK })
    expect(await settle()).toMatchObject({ success: true, transaction: '0.0.5001@1.1' })
  })

  test.each([200, 400, 402])('success: false passes through with status %i', async (status) => {
    answer(status, {
      success: false,
      errorReason: 'insufficient_funds',
      transaction: '',
      network: NETWORK,
    })
    expect(await settle()).toEqual({
      success: false,
      errorReason: 'insufficient_funds',
      transaction: '',
      network: NETWORK,
    })
  })

  test.each<[string, number, unknown]>([
    ['500, even with a settlement', 500, { success: false, errorReason: 'x', transaction: '' }],
    ['503 with HTML', 503, '<html>'],
    ['404', 404, { message: 'Not Found' }],
    ['429', 429, { error: 'slow down' }],
    ['401', 401, ''],
    ['a redirect', 308, {}],
    ['200 without JSON', 200, 'ok'],
    ['200 with other JSON', 200, { ok: true }],
    ['200 with an array', 200, []],
    ['a success without a transaction', 200, { success: true, transaction: '', network: NETWORK }],
    ['a success with status 402', 402, { success: true, transaction: 'x', network: NETWORK }],
    ['another network', 200, { success: true, transaction: 'x', network: 'hedera:mainnet' }],
    ['an answer over 64 KiB', 200, { success: true, transaction: 'x'.repeat(70_000) }],
  ])('X9: %s is FacilitatorUnavailable, and may have been sent', async (_name, status, json) => {
    answer(status, json)
    await expect(settle()).rejects.toMatchObject({
      name: 'FacilitatorUnavailable',
      nothingSent: false,
    })
  })

  test.each<[string, number, unknown]>([
    ['401 without a body', 401, ''],
    ['403 of a firewall', 403, '<html>'],
    ['404 of a framework', 404, { message: 'Not Found' }],
    ['405', 405, {}],
    ['429', 429, { error: 'slow down' }],
    ['400 of a framework', 400, { statusCode: 400, error: 'Bad Request' }],
    ['503 without a code', 503, '<html>'],
    ['401 with a reason of its own', 401, { success: false, errorReason: 'bad_api_key' }],
  ])('X23: %s turns the request away', async (_name, status, json) => {
    answer(status, json)
    const turnedAway = `status ${status}`
    await expect(settle()).rejects.toMatchObject({ turnedAway, nothingSent: false })
  })

  test.each<[string, number, unknown]>([
    ['500', 500, ''],
    ['502 of a proxy', 502, '<html>'],
    ['a redirect', 308, {}],
    ['200 without a settlement', 200, {}],
  ])('X23: %s is doubt: it turned nothing away', async (_name, status, json) => {
    answer(status, json)
    await expect(settle()).rejects.toMatchObject({ turnedAway: undefined })
  })

  test.each([
    { success: false, errorReason: 'payer_blocked', transaction: '' },
    { success: false, errorReason: 'who_knows', transaction: '0.0.1@1.000000001' },
  ])('X23: 403 with %j is about the payment', async (json) => {
    answer(403, { ...json, network: NETWORK })
    expect(await settle()).toMatchObject(json)
  })

  test.each([
    'consensus_unavailable',
    'fee_payer_balance_too_low',
    'fee_payer_unusable',
    'ledger_unavailable',
  ])('X8: a 503 %s says that nothing was submitted', async (error) => {
    answer(503, { error })
    await expect(settle()).rejects.toMatchObject({
      name: 'FacilitatorUnavailable',
      nothingSent: true,
    })
    answer(500, { error })
    await expect(settle()).rejects.toMatchObject({ nothingSent: false })
  })

  test('X9: a dropped connection is FacilitatorUnavailable, and may have been sent', async () => {
    server.answer = 'drop'
    await expect(settle()).rejects.toMatchObject({
      name: 'FacilitatorUnavailable',
      nothingSent: false,
    })
  })

  test('X9: no answer within 30 s is FacilitatorUnavailable, and may have been sent', async () => {
    server.answer = 'hang'
    const count = server.requests.length
    const settling = settle().catch((error: unknown) => error)
    await expect.poll(() => server.requests.length).toBe(count + 1)
    await clock.advanceMsSettled(29_999)
    expect(clock.pendingCount()).toBe(1)
    await clock.advanceMsSettled(1)
    expect(await settling).toMatchObject({ name: 'FacilitatorUnavailable', nothingSent: false })
  })

  test('a closed port or a non-existent host: nothing was sent', async () => {
    const port = await freePort()
    for (const url of [`http://127.0.0.1:${port}`, 'http://facilitator.invalid']) {
      const absent = createHttpFacilitator({ url, clock })
      await expect(absent.settle(payload, accepted)).rejects.toMatchObject({
        name: 'FacilitatorUnavailable',
        nothingSent: true,
      })
    }
  })
})

describe('GET /supported', () => {
  test('fee payers by network, from v2 exact kinds', async () => {
    answer(200, {
      kinds: [
        kind(NETWORK, '0.0.1'),
        kind(NETWORK, '0.0.2'),
        kind('hedera:mainnet', '0.0.3'),
        kind(NETWORK, '0.0.4', 1),
        { x402Version: 2, scheme: 'exact', network: 'eip155:196' },
      ],
      extensions: [],
      signers: {},
    })
    expect(await facilitator.feePayers()).toEqual(
      new Map([
        [NETWORK, ['0.0.1', '0.0.2']],
        ['hedera:mainnet', ['0.0.3']],
      ]),
    )
  })

  test.each<[number, unknown]>([
    [500, { kinds: [] }],
    [200, {}],
    [200, 'x'],
  ])('status %i with %j is FacilitatorUnavailable', async (status, json) => {
    answer(status, json)
    await expect(facilitator.feePayers()).rejects.toMatchObject({ name: 'FacilitatorUnavailable' })
  })
})

function kind(network: string, feePayer: string, x402Version = 2): object {
  return { x402Version, scheme: 'exact', network, extra: { feePayer } }
}
