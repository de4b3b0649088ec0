// A17: a window that only its agent can use. guarded-window-attacks.test.ts: what it keeps out.
import { createSIWxClientExtension } from '@x402/extensions/sign-in-with-x'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { describe, expect, test } from 'vitest'
import { paymentHeader, START_SECONDS, startFakeService } from '../testing/fake-service.ts'
import { accessUrl, decoded, payment } from './access-route.fixture.ts'
import {
  account,
  agent,
  bearer,
  guarded,
  guardedWindow,
  proofFor,
  SESSION_SECRET,
} from './guarded-window.fixture.ts'

const { call, fakes, readRefusal, route, signIn } = guardedWindow()

/** The route as a `fetch`. */
const fetchRoute: typeof fetch = async (input, init) => {
  const request = new Request(input, init)
  const headers = Object.fromEntries(request.headers)
  const answer = await route().inject({ url: request.url, headers })
  const { statusCode: status } = answer
  const read = new Response(answer.body, { status, headers: answer.headers as never })
  Object.defineProperty(read, 'url', { value: request.url })
  return read
}

describe('A17: a guarded agent with an open window', () => {
  test('is asked for a proof, with nothing to pay, and nothing is metered', async () => {
    const answer = await call()
    expect(answer.statusCode).toBe(402)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(decoded(answer.headers['payment-required'])).toBe(answer.body)
    expect(answer.json()).toEqual({
      x402Version: 2,
      error: 'sign_in_required',
      resource: {
        url: 'https://access.example/api/svc/access',
        description: expect.any(String),
        mimeType: 'application/json',
      },
      accepts: [],
      extensions: {
        'sign-in-with-x': {
          info: {
            domain: 'access.example',
            uri: 'https://access.example/api/svc/access',
            version: '1',
            nonce: expect.stringMatching(/^[0-9a-f]{32}$/),
            issuedAt: '2027-01-15T08:00:00.000000001Z',
            expirationTime: '2027-01-15T08:05:00.000Z',
            statement: 'Prove that you hold the key of this agent.',
          },
          supportedChains: [{ chainId: 'eip155:296', type: 'eip191' }],
        },
      },
    })
    expect(fakes().recorded).toEqual([])
  })

  test('is served after its proof, and from then on by the token that this brought', async () => {
    const proved = await call(await signIn())
    expect(proved.statusCode).toBe(200)
    expect(proved.json()).toMatchObject({ access: 'granted', paidThisRequest: false })
    const token = String(proved.headers['access-token'])
    expect(token).toMatch(new RegExp(`^v1\\.${agent}\\.${START_SECONDS + 3_600}\\.[\\w-]{43}$`))
    const again = await call(bearer(token))
    expect(again.statusCode).toBe(200)
    expect(again.headers['access-token']).toBeUndefined()
    expect(fakes().recorded).toHaveLength(2)
  })

  test('proof comes before the quota: who has none learns nothing of it, and who has gets its 429', async () => {
    fakes().contract.windows.set(agent, guarded({ callsUsed: 20 }))
    expect(await readRefusal({})).toBe('sign_in_required')
    const answer = await call(await signIn())
    expect(answer.statusCode).toBe(429)
    expect(answer.json()).toEqual({ error: 'quota_exhausted' })
  })

  test('without a window the ordinary challenge comes, without sign-in', async () => {
    fakes().contract.windows.delete(agent)
    const body = (await call()).json()
    expect(body.error).toBe('payment_required')
    expect(body.accepts).toHaveLength(1)
    expect(body.extensions).not.toHaveProperty('sign-in-with-x')
  })

  test('the paid call that opens the window asks for no proof', async () => {
    fakes().contract.windows.delete(agent)
    const header = paymentHeader((await call()).json(), { ...payment, memo: `x402:${agent}` })
    const answer = await call(header)
    expect(answer.json()).toMatchObject({ paidThisRequest: true })
  })

  test('a payment that comes in the open window is left unsettled, and proof is asked for', async () => {
    const header = paymentHeader(await route().challenge(), payment)
    expect(await readRefusal(header)).toBe('sign_in_required')
    expect(fakes().facilitator.settled).toEqual([])
  })

  test('the official client with its extension gets in, unmodified', async () => {
    const client = new x402Client().registerExtension(
      createSIWxClientExtension({ signers: [account] }),
    )
    const url = `https://access.example${accessUrl(agent)}`
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => wrapFetchWithPayment(fetchRoute, client)(url)),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(fakes().facilitator.settled).toEqual([])
  })

  test('replicas that share the secret take each other’s challenges and tokens', async () => {
    const replica = await startFakeService(fakes(), { environment: { SESSION_SECRET } })
    const challenge = (await call()).json()
    const url = accessUrl(agent)
    const proved = await replica.app.inject({ url, headers: await proofFor(challenge) })
    expect(proved.statusCode).toBe(200)
    const token = String(proved.headers['access-token'])
    expect((await call(bearer(token))).statusCode).toBe(200)
    await replica.close()
  })
})
