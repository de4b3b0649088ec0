/** The service on a real local ledger while parts of the stack fail. */
import { freePort } from '@tallystick/service-kit'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  createServiceCalls,
  type LocalStack,
  type RunningService,
  readAnswer,
  type ServiceCalls,
  startLocalStack,
  until,
  untilInTime,
} from './testing/local-stack.ts'

let stack: LocalStack
let service: RunningService
let here: ServiceCalls

beforeAll(async () => {
  stack = await startLocalStack({ periodSeconds: 600, callsAllowed: 20 })
  service = await stack.startService()
  here = createServiceCalls(service)
  await untilInTime(stack, here.isReady)
})
afterAll(() => stack.stop())
beforeEach(() =>
  stack.devnet.controls.setUnavailable({ rpc: false, mirror: false, consensus: false }),
)

describe('503 and 502 of the chain', () => {
  test('the access contract is not deployed: no address, or no code at it', async () => {
    const agent = await stack.agent('nowhere')
    for (const contract of ['', '0x00000000000000000000000000000000000c0de0']) {
      const other = await stack.startService({ ACCESS_CONTRACT: contract })
      for (const route of ['access', 'status']) {
        const answer = await readAnswer(
          await fetch(`${other.baseUrl}/api/svc/${route}?agent=${agent.evmAddress}`),
        )
        expect(answer).toEqual({ status: 503, body: { error: 'contract_not_deployed' } })
      }
      expect((await createServiceCalls(other).readyChecks())['contract']).toMatchObject({
        reason: 'contract_not_deployed',
      })
      await other.stop()
    }
  })

  test('another chain id, and a ledger that does not answer', async () => {
    const agent = await stack.agent('elsewhere')
    const other = await stack.startService({ LEDGER_CHAIN_ID: '295' })
    expect(await createServiceCalls(other).call(agent.evmAddress)).toEqual({
      status: 502,
      body: { error: 'wrong_chain' },
    })
    await other.stop()
    stack.devnet.controls.setUnavailable({ rpc: true })
    for (const route of ['access', 'status']) {
      const answer = await readAnswer(
        await fetch(`${service.baseUrl}/api/svc/${route}?agent=${agent.evmAddress}`),
      )
      expect(answer).toEqual({ status: 502, body: { error: 'chain_unavailable' } })
    }
    stack.devnet.controls.setUnavailable({ rpc: false })
    expect((await here.call(agent.evmAddress)).status).toBe(402)
  })
})

describe('502 of facilitator and mirror node', () => {
  test('X11: with the facilitator down an unpaid payment is 502, the service goes on and says so on /ready', async () => {
    const agent = await stack.agent('no-facilitator')
    const nobody = `http://127.0.0.1:${await freePort()}`
    const other = await stack.startService({ FACILITATOR_URL: nobody })
    await untilInTime(
      stack,
      async () =>
        (await createServiceCalls(other).call(agent.evmAddress)).body.error === 'no_fee_payer',
    )
    expect((await createServiceCalls(other).readyChecks())['facilitator']).toMatchObject({
      reason: 'no_fee_payer',
    })
    await other.stop()
    const feePayer = (await signedFeePayer(agent)) ?? ''
    const configured = await stack.startService({
      FACILITATOR_URL: nobody,
      FEE_PAYERS: feePayer,
    })
    await untilInTime(
      stack,
      async () => (await createServiceCalls(configured).call(agent.evmAddress)).status === 402,
    )
    const header = await here.signedPayment(agent)
    expect(await createServiceCalls(configured).send(agent.evmAddress, header)).toEqual({
      status: 502,
      body: { error: 'facilitator_unavailable' },
    })
    expect((await createServiceCalls(configured).readyChecks())['facilitator']).toMatchObject({
      reason: 'facilitator_down',
    })
    await configured.stop()
    expect((await here.send(agent.evmAddress, header)).status).toBe(200)
  })

  test('A4: with the mirror node down a new process issues no challenge and serves open windows', async () => {
    const agent = await stack.agent('no-mirror')
    await here.pay(agent)
    stack.devnet.controls.setUnavailable({ mirror: true })
    const other = await stack.startService()
    const stranger = '0x00000000000000000000000000000000000add1e'
    await untilInTime(
      stack,
      async () => (await createServiceCalls(other).call(stranger)).body.error === 'payments_unread',
    )
    expect((await createServiceCalls(other).call(agent.evmAddress)).status).toBe(200)
    expect((await createServiceCalls(other).readyChecks())['mirror']).toMatchObject({
      reason: 'payments_unread',
    })
    stack.devnet.controls.setUnavailable({ mirror: false })
    await untilInTime(
      stack,
      async () => (await createServiceCalls(other).call(stranger)).status === 402,
    )
    await other.stop()
  })
})

async function signedFeePayer(agent: { readonly evmAddress: string }): Promise<string | undefined> {
  const challenge = (await here.call(agent.evmAddress)).body as unknown as {
    readonly accepts?: readonly { readonly extra: { readonly feePayer: string } }[]
  }
  return challenge.accepts?.[0]?.extra.feePayer
}

describe('the seller’s money', () => {
  test('A3: a float below one purchase and its forward is 502, unpaid, and named on /ready', async () => {
    const agent = await stack.agent('floatless')
    const header = await here.signedPayment(agent)
    await stack.devnet.controls.setBalanceTinybar(stack.payTo.accountId, 1_000_000_000n)
    expect(await here.send(agent.evmAddress, header)).toEqual({
      status: 502,
      body: { error: 'seller_float_low' },
    })
    await untilInTime(
      stack,
      async () => (await here.readyChecks())['float']?.reason === 'payto_float_low',
    )
    await stack.devnet.controls.setBalanceTinybar(stack.payTo.accountId, 1_000_000_000_000n)
    expect((await here.send(agent.evmAddress, header)).status).toBe(200)
  })

  test('a recorder without gas money is named on /ready', async () => {
    await stack.devnet.controls.setBalanceTinybar(stack.recorder.accountId, 1n)
    await untilInTime(
      stack,
      async () => (await here.readyChecks())['recorder']?.reason === 'recorder_gas_low',
    )
    expect(await here.isReady()).toBe(false)
    await stack.devnet.controls.setBalanceTinybar(stack.recorder.accountId, 1_000_000_000_000n)
    await untilInTime(stack, here.isReady)
  })
})

test('a key that is not payTo’s is named on /ready', async () => {
  const stranger = await stack.agent('not-payto')
  const other = await stack.startService({ PAY_TO_KEY: stranger.privateKey })
  expect((await createServiceCalls(other).readyChecks())['payTo']).toMatchObject({
    reason: 'payto_key_mismatch',
  })
  await other.stop()
})

describe('the network fails', () => {
  test('a forward that the network loses is sent again: one settlement, one opening', async () => {
    const agent = await stack.agent('lost-forward')
    const header = await here.signedPayment(agent)
    stack.devnet.controls.dropNextTransactions(1)
    const paying = here.send(agent.evmAddress, header)
    await until(async () => {
      await stack.devnet.controls.advanceSeconds(1)
      return (await Promise.race([paying, Promise.resolve(undefined)])) !== undefined
    })
    expect(await paying).toMatchObject({
      status: 200,
      body: { paidThisRequest: true, subscription: { balanceTinybar: '900000000' } },
    })
  })

  test('A7: a renewal that the network could not pay for is reaped while the agent is served', async () => {
    const agent = await stack.agent('unpaid-renewal')
    const paid = await here.pay(agent)
    const { expiresAt, nextRenewalSchedule } = paid.body.subscription
    await stack.devnet.controls.setBalanceTinybar(stack.contract, 1n)
    await stack.devnet.controls.advanceSeconds(expiresAt - stack.devnet.nowSeconds() + 1)
    await stack.devnet.controls.setBalanceTinybar(stack.contract, 100_000_000_000n)
    await stack.devnet.controls.advanceSeconds(35)
    expect((await here.call(agent.evmAddress)).body.subscription.nextRenewalSchedule).toBe(
      `0x${'0'.repeat(40)}`,
    )
    await untilInTime(stack, async () => {
      const { nextRenewalSchedule: next } = (await here.call(agent.evmAddress)).body.subscription
      return next !== `0x${'0'.repeat(40)}` && next !== nextRenewalSchedule
    })
  })
})
