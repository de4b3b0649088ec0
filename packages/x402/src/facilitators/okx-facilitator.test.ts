/** OKX's client against a stand-in that checks signatures as OKX documents them. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import fastify, { type FastifyRequest } from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import type { Clock } from '../clock.ts'
import type { PaymentPayload } from '../payment.ts'
import { centRequirement, payCent } from '../testing/evm-stand-in.fixture.ts'
import { listen } from '../testing/scripted-server.fixture.ts'
import { FacilitatorUnavailable } from './facilitator.ts'
import { createOkxFacilitator } from './okx-facilitator.ts'

const START_MS = 1_795_226_000_123
const CREDENTIALS = { apiKey: 'key-1', passphrase: 'open sesame', secretKey: 'a secret' }
const HASH = `0x${'ab'.repeat(32)}`
/** OKX refuses times further off than this. */
const SKEW_MS_MAX = 30_000

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** Between two polls of a pending settlement. */
const PAUSE_MS = 1_000

/** Answers of the stand-in, in order; the last one repeats. */
type Answer = { readonly status?: number; readonly body: unknown }

async function okx(answers: readonly Answer[]) {
  const clock = manualClock(START_MS)
  const app = fastify({ forceCloseConnections: true })
  const seen: { method: string; url: string; body: unknown }[] = []
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    done(null, body)
  })
  app.all('/*', async (request, reply) => {
    const refusal = judgeHeaders(request, clock)
    if (refusal !== undefined) {
      return await reply.code(401).send({ code: refusal, msg: 'refused', data: null })
    }
    const text = typeof request.body === 'string' ? request.body : ''
    const body: unknown = text === '' ? undefined : JSON.parse(text)
    seen.push({ method: request.method, url: request.url, body })
    const answer = answers[Math.min(seen.length, answers.length) - 1]
    return await reply.code(answer?.status ?? 200).send(answer?.body)
  })
  const { close, url } = await listen(app)
  closing.push(close)
  const pauses = { open: 0 }
  const pausing: Clock = {
    ...clock,
    after(ms, run) {
      if (ms !== PAUSE_MS) return clock.after(ms, run)
      pauses.open += 1
      return clock.after(ms, () => {
        pauses.open -= 1
        run()
      })
    },
  }
  const client = (changes: Partial<Parameters<typeof createOkxFacilitator>[0]> = {}) =>
    createOkxFacilitator({ ...CREDENTIALS, url, clock: pausing, ...changes })
  return { pauses, client, clock, seen }
}

/** OKX's error code if the headers do not sign this very request. */
function judgeHeaders(request: FastifyRequest, clock: ManualClock): string | undefined {
  const header = (name: string): string => String(request.headers[name] ?? '')
  const timestamp = header('ok-access-timestamp')
  if (header('ok-access-key') !== CREDENTIALS.apiKey) return '50111'
  if (header('ok-access-passphrase') !== CREDENTIALS.passphrase) return '50105'
  const isIsoMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(timestamp)
  if (!isIsoMs || Math.abs(Date.parse(timestamp) - clock.unixMs()) > SKEW_MS_MAX) return '50112'
  const body = typeof request.body === 'string' ? request.body : ''
  const expected = createHmac('sha256', CREDENTIALS.secretKey)
    .update(`${timestamp}${request.method}${request.url}${body}`)
    .digest()
  const signature = Buffer.from(header('ok-access-sign'), 'base64')
  return signature.length === expected.length && timingSafeEqual(signature, expected)
    ? undefined
    : '50113'
}

const wrap = (data: unknown, code: unknown = '0'): Answer => ({ body: { code, msg: '', data } })
const success = {
  success: true,
  status: 'success',
  transaction: HASH,
  network: 'eip155:196',
  payer: '0x1',
}

async function order(): Promise<[PaymentPayload, PaymentPayload['accepted']]> {
  const accepted = centRequirement()
  return [{ x402Version: 2, payload: await payCent(), accepted }, accepted]
}

describe('G9: a settlement through OKX', () => {
  test('is signed over time, method, path and body, and asks OKX to wait for the block', async () => {
    const { client, seen } = await okx([wrap(success)])
    const [payload, requirement] = await order()
    const settlement = await client().settle(payload, requirement)
    expect(settlement).toEqual({
      success: true,
      transaction: HASH,
      network: 'eip155:196',
      payer: '0x1',
    })
    expect(seen).toEqual([
      {
        method: 'POST',
        url: '/api/v6/pay/x402/settle',
        body: {
          x402Version: 2,
          paymentPayload: payload,
          paymentRequirements: requirement,
          syncSettle: true,
        },
      },
    ])
  })

  test.each([
    ['the code "0"', wrap(success)],
    ['the code 0', wrap(success, 0)],
    ['a list of one', wrap([success])],
    ['no envelope', { body: success }],
    ['the network as a chain id', wrap({ ...success, network: 196 })],
    ['no network', wrap({ success: true, transaction: HASH })],
    ['the hash as txHash', wrap({ success: true, txHash: HASH })],
  ])('is understood with %s', async (_name, answer) => {
    const { client } = await okx([answer])
    expect(await client().settle(...(await order()))).toMatchObject({
      success: true,
      transaction: HASH,
    })
  })

  test('a refusal comes through with its reason', async () => {
    const { client } = await okx([
      wrap({ success: false, errorReason: 'insufficient_funds', transaction: '' }),
    ])
    expect(await client().settle(...(await order()))).toEqual({
      success: false,
      transaction: '',
      network: 'eip155:196',
      errorReason: 'insufficient_funds',
    })
  })
})

describe('pending and timeout are polled, not taken as settled', () => {
  const pending = { success: true, status: 'pending', transaction: HASH, network: 'eip155:196' }

  test.each(['pending', 'timeout'])('%s until it succeeds', async (status) => {
    const { client, clock, pauses, seen } = await okx([
      wrap({ ...pending, status }),
      wrap({ ...pending, status }),
      { status: 503, body: { code: '50001', msg: 'busy', data: null } },
      wrap({ hello: 'world' }),
      wrap(success),
    ])
    const settling = client().settle(...(await order()))
    await advanceUntil({ clock, pauses }, settling)
    expect(await settling).toMatchObject({ success: true, transaction: HASH })
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /api/v6/pay/x402/settle',
      ...Array.from({ length: 4 }, () => `GET /api/v6/pay/x402/settle/status?txHash=${HASH}`),
    ])
  })

  test('until the deadline: then it is pending, with its transaction, and the ledger decides', async () => {
    const { client, clock, pauses, seen } = await okx([wrap(pending)])
    const settling = client().settle(...(await order()))
    await advanceUntil({ clock, pauses }, settling)
    expect(await settling).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
      transaction: HASH,
    })
    expect(clock.unixMs() - START_MS).toBeLessThanOrEqual(26_000)
    expect(seen.length).toBeLessThanOrEqual(26)
  })

  test('without a transaction there is nothing to poll', async () => {
    const { client, seen } = await okx([wrap({ success: false, status: 'timeout' })])
    expect(await client().settle(...(await order()))).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
      transaction: '',
    })
    expect(seen).toHaveLength(1)
  })
})

describe('an answer that is not a settlement is FacilitatorUnavailable', () => {
  const failure = async (
    answer: Answer,
    changes: Partial<Parameters<typeof createOkxFacilitator>[0]> = {},
  ) => {
    const { client } = await okx([answer])
    return await client(changes)
      .settle(...(await order()))
      .then(
        () => undefined,
        (error: unknown) => (error instanceof FacilitatorUnavailable ? error : undefined),
      )
  }

  test.each([
    ['apiKey', { apiKey: 'other' }],
    ['passphrase', { passphrase: 'other' }],
    ['secretKey', { secretKey: 'other' }],
    ['clock', { clock: manualClock(START_MS - 60_000) }],
  ])(
    'a wrong %s: OKX did not look at the payment, and no message holds the secret',
    async (_name, changes) => {
      const error = await failure(wrap(success), changes)
      expect(error).toMatchObject({
        nothingSent: true,
        turnedAway: expect.stringMatching(/^code 5/),
      })
      expect(JSON.stringify([error?.message, error?.cause])).not.toContain('secret')
    },
  )

  test.each<[string, Answer]>([
    ['another code', wrap(null, '50001')],
    ['a status 500', { status: 500, body: success }],
    ['no settlement', wrap({ hello: 'world' })],
    ['a success without a hash', wrap({ success: true, network: 'eip155:196' })],
    ['another network', wrap({ ...success, network: 'eip155:1' })],
  ])('%s leaves the outcome open', async (_name, answer) => {
    expect(await failure(answer)).toMatchObject({ nothingSent: false })
  })

  test('/supported is signed and read; an EVM network names no fee payer', async () => {
    const { client, seen } = await okx([wrap({ kinds: [{ network: 'eip155:196' }] })])
    expect(await client().feePayers()).toEqual(new Map())
    expect(seen).toMatchObject([{ method: 'GET', url: '/api/v6/pay/x402/supported' }])
  })
})

/** Ends every pause between polls at once, until the promise settles. */
async function advanceUntil(
  { clock, pauses }: { readonly clock: ManualClock; readonly pauses: { readonly open: number } },
  promise: Promise<unknown>,
): Promise<void> {
  const state = { isOver: false }
  const end = (): void => {
    state.isOver = true
  }
  void promise.then(end, end)
  while (!state.isOver) {
    await clock.advanceMsSettled(0)
    if (pauses.open > 0) await clock.advanceMsSettled(PAUSE_MS)
  }
}
