/** The service on a real local ledger, over HTTP: what an agent meets in the main. Rare failures are in the route tests. */
import { createPublicKey, verify, type webcrypto } from 'node:crypto'
import { accessWindowAbi } from '@tallystick/contracts'
import { createPublicClient, http, parseEventLogs } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AnswerBody,
  asOwner,
  createServiceCalls,
  type LocalStack,
  payingFetch,
  type RunningService,
  startLocalStack,
  untilInTime,
} from './testing/local-stack.ts'
import type { Status } from './wire/access-answers.ts'

let stack: LocalStack
let service: RunningService

beforeAll(async () => {
  stack = await startLocalStack({ periodSeconds: 600, callsAllowed: 5 })
  service = await stack.startService()
  await untilInTime(stack, createServiceCalls(service).isReady)
})
afterAll(() => stack.stop())

const accessUrl = (agent: string, from = service) => `${from.baseUrl}/api/svc/access?agent=${agent}`
const call = async (agent: string, from = service) => {
  const answer = await fetch(accessUrl(agent, from))
  return {
    status: answer.status,
    headers: answer.headers,
    body: (await answer.json()) as AnswerBody,
  }
}
const pay = async (
  agent: Awaited<ReturnType<LocalStack['agent']>>,
  forAgent: string = agent.evmAddress,
) => {
  const answer = await payingFetch(agent)(accessUrl(forAgent))
  return {
    status: answer.status,
    headers: answer.headers,
    body: (await answer.json()) as AnswerBody,
  }
}
const status = async (agent: string) =>
  (await (await fetch(`${service.baseUrl}/api/svc/status?agent=${agent}`)).json()) as Status
const readUsage = async (hash: string) => {
  const client = createPublicClient({ transport: http(stack.devnet.rpcUrl) })
  const receipt = await client.waitForTransactionReceipt({
    hash: hash as `0x${string}`,
    pollingInterval: 50,
  })
  return parseEventLogs({ abi: accessWindowAbi, logs: receipt.logs, eventName: 'UsageRecorded' })
}

describe('the story of one agent', () => {
  test('402, pays once with the official @x402/fetch client, 200; calls are free; the window renews itself; quota spent is 429', async () => {
    const agent = await stack.agent('story')
    const challenged = await call(agent.evmAddress)
    expect(challenged.status).toBe(402)
    expect(challenged.body.accepts?.[0]).toMatchObject({
      amount: '1200000000',
      payTo: stack.payTo.accountId,
    })
    expect(
      Buffer.from(String(challenged.headers.get('payment-required')), 'base64').toString(),
    ).toBe(JSON.stringify(challenged.body))

    const paid = await pay(agent)
    expect(paid.status).toBe(200)
    expect(paid.body).toMatchObject({
      access: 'granted',
      paidThisRequest: true,
      subscription: { periodSeconds: 600, balanceTinybar: '900000000', active: true },
      metering: { callsRemainingThisPeriod: 4 },
      resource: { network: 'hedera:testnet', gasPriceTinybar: '109', usdPerHbar: '0.07816666' },
    })
    const [first] = await readUsage(String(paid.body.metering?.recordedOnChain))
    expect(first?.args.callsUsed).toBe(1)

    const free = await call(agent.evmAddress)
    expect(free).toMatchObject({
      status: 200,
      body: { paidThisRequest: false, metering: { callsRemainingThisPeriod: 3 } },
    })
    const [second] = await readUsage(String(free.body.metering?.recordedOnChain))
    expect(second?.args).toMatchObject({
      callsUsed: 2,
      windowExpiresAt: BigInt(paid.body.subscription.expiresAt),
    })
    expect(await status(agent.evmAddress)).toMatchObject({
      hasAccess: true,
      contract: stack.contract,
      pricePerPeriodTinybar: '300000000',
      balanceTinybar: '900000000',
      periodsFunded: 3,
      usage: { callsUsed: 2, callsAllowed: 5, callsRemaining: 3 },
      unavailable: [],
    })

    await stack.devnet.controls.advanceSeconds(601)
    const renewed = await call(agent.evmAddress)
    expect(renewed).toMatchObject({
      status: 200,
      body: {
        paidThisRequest: false,
        subscription: {
          expiresAt: paid.body.subscription.expiresAt + 600,
          balanceTinybar: '600000000',
        },
        metering: { callsRemainingThisPeriod: 4 },
      },
    })
    for (let used = 1; used < 5; used += 1) expect((await call(agent.evmAddress)).status).toBe(200)
    const spent = await call(agent.evmAddress)
    expect(spent).toMatchObject({ status: 429, body: { error: 'quota_exhausted' } })
    expect(Number(spent.headers.get('retry-after'))).toBeGreaterThan(590)
    await stack.devnet.controls.advanceSeconds(600)
    expect((await call(agent.evmAddress)).status).toBe(200)
  })

  test('A8: after the last funded period the next call is a 402', async () => {
    const agent = await stack.agent('until-the-end')
    expect((await pay(agent)).status).toBe(200)
    await stack.devnet.controls.advanceSeconds(3 * 600 + 300)
    expect(await status(agent.evmAddress)).toMatchObject({ hasAccess: true, periodsFunded: 0 })
    expect((await call(agent.evmAddress)).status).toBe(200)
    await stack.devnet.controls.advanceSeconds(301)
    expect(await status(agent.evmAddress)).toMatchObject({
      hasAccess: false,
      active: false,
      balanceTinybar: '0',
    })
    expect((await call(agent.evmAddress)).status).toBe(402)
    expect((await pay(agent)).body.paidThisRequest).toBe(true)
  })

  test('X10: a memo ties a gift to its agent; the same payment for another agent is refused', async () => {
    const giver = await stack.agent('giver')
    const friend = '0x00000000000000000000000000000000f00df00d'
    const refused = await payingFetch(giver, `x402:${giver.evmAddress}`)(accessUrl(friend))
    expect(refused.status).toBe(402)
    expect(await refused.json()).toMatchObject({ error: 'payment_memo_mismatch' })
    const gift = await payingFetch(giver, `x402:${friend}`)(accessUrl(friend))
    expect(gift.status).toBe(200)
    expect((await call(friend)).status).toBe(200)
    expect((await call(giver.evmAddress)).status).toBe(402)
  })
})

describe('many at once', () => {
  test('eight agents pay at the same time: each forwarded in order from payTo’s key', async () => {
    const agents = await Promise.all(
      Array.from({ length: 8 }, (_, index) => stack.agent(`crowd-${index}`)),
    )
    const answers = await Promise.all(agents.map((agent) => pay(agent)))
    expect(answers.map((answer) => answer.status)).toEqual(Array.from({ length: 8 }, () => 200))
    expect(new Set(answers.map((answer) => answer.body.metering?.recordedOnChain)).size).toBe(8)
  })

  test('A14: two replicas share payTo’s key: a nonce that the other took is retried', async () => {
    const recorder = await stack.agent('second-recorder')
    await asOwner(stack, { functionName: 'setRecorder', args: [recorder.evmAddress, true] })
    const second = await stack.startService({
      RECORDER_KEY: recorder.privateKey,
      RECORDER_COUNT: '3',
      SESSION_SECRET: 'what both processes of this test share',
    })
    await untilInTime(stack, async () => (await call(recorder.evmAddress, second)).status === 402)
    const agents = await Promise.all(
      Array.from({ length: 6 }, (_, index) => stack.agent(`replica-${index}`)),
    )
    const answers = await Promise.all(
      agents.map((agent, index) =>
        payingFetch(agent)(accessUrl(agent.evmAddress, index % 2 === 0 ? service : second)),
      ),
    )
    expect(answers.map((answer) => answer.status)).toEqual(Array.from({ length: 6 }, () => 200))
    await second.stop()
  })
})

describe('lagging reads', () => {
  test('A5, A8: no false 402 after a purchase or at a boundary while reads lag by 3 s', async () => {
    const agent = await stack.agent('lagging')
    // Something to lag behind: without it the ledger as it was is the ledger as it is.
    stack.devnet.controls.setReadLagMs(3_000)
    try {
      const paying = pay(agent)
      expect((await paying).body.paidThisRequest).toBe(true)
      expect((await call(agent.evmAddress)).status).toBe(200)
      const { expiresAt } = (await call(agent.evmAddress)).body.subscription
      await stack.devnet.controls.advanceSeconds(expiresAt - stack.devnet.nowSeconds() - 1)
      const statuses: number[] = []
      for (let step = 0; step < 6; step += 1) {
        statuses.push((await call(agent.evmAddress)).status)
        await stack.devnet.controls.advanceSeconds(1)
      }
      expect(statuses).not.toContain(402)
      expect(statuses.filter((each) => each === 200).length).toBeGreaterThan(3)
    } finally {
      stack.devnet.controls.setReadLagMs(0)
    }
  })
})

/** The receipt in a PAYMENT-RESPONSE; throws unless the key under the host's did:web signed it. */
async function provenReceipt(response: string, origin: string): Promise<object> {
  const settlement = JSON.parse(Buffer.from(response, 'base64').toString())
  const jws: string = settlement.extensions['offer-receipt'].info.receipt.signature
  const [header = '', payload = '', signature = ''] = jws.split('.')
  const document = (await (await fetch(`${origin}/.well-known/did.json`)).json()) as {
    readonly verificationMethod: readonly { id: string; publicKeyJwk: webcrypto.JsonWebKey }[]
  }
  const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString())
  const method = document.verificationMethod.find(({ id }) => id === kid)
  if (method === undefined) throw new Error(`${kid} is not in the document`)
  const key = createPublicKey({ key: method.publicKeyJwk, format: 'jwk' })
  const signed = Buffer.from(`${header}.${payload}`)
  expect(verify(null, signed, key, Buffer.from(signature, 'base64url'))).toBe(true)
  return JSON.parse(Buffer.from(payload, 'base64url').toString())
}

describe('X9: identical requests', () => {
  test('X18: the same header sent ten times at once, and later to another process, is paid once, with a signed receipt', async () => {
    const agent = await stack.agent('repeating')
    const header = await createServiceCalls(service).signedPayment(agent)
    const send = (from = service) =>
      fetch(accessUrl(agent.evmAddress, from), { headers: { 'payment-signature': header } })
    const answers = await Promise.all(Array.from({ length: 10 }, () => send()))
    const bodies = await Promise.all(answers.map((answer) => answer.text()))
    expect(answers.map((answer) => answer.status)).toEqual(Array.from({ length: 10 }, () => 200))
    expect(new Set(bodies).size).toBe(1)
    const response = answers[0]?.headers.get('payment-response') ?? ''
    // Common limits of all of an answer's headers begin at 4 KiB.
    expect(response.length).toBeLessThan(2_048)
    expect(
      await provenReceipt(response, new URL(accessUrl(agent.evmAddress)).origin),
    ).toMatchObject({ payer: agent.accountId, network: 'hedera:testnet' })
    const before = await status(agent.evmAddress)
    const recorder = await stack.agent('repeating-recorder')
    await asOwner(stack, { functionName: 'setRecorder', args: [recorder.evmAddress, true] })
    const second = await stack.startService({
      RECORDER_KEY: recorder.privateKey,
      RECORDER_COUNT: '3',
      SESSION_SECRET: 'what both processes of this test share',
    })
    await untilInTime(stack, createServiceCalls(second).isReady)
    for (const later of [service, second])
      expect(await (await send(later)).json()).toMatchObject({ paidThisRequest: false })
    expect(await status(agent.evmAddress)).toMatchObject({ balanceTinybar: before.balanceTinybar })
    await second.stop()
  })
})
