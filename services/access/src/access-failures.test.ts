/** The service on a real local ledger while parts of the world fail. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { accessWindowAbi } from '@tallystick/contracts'

import { createPublicClient, createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  type AnswerBody,
  payingFetch,
  type RealWorld,
  type RunningService,
  startRealWorld,
  until,
} from './testing/real-world.ts'

let world: RealWorld
let service: RunningService

beforeAll(async () => {
  world = await startRealWorld({ periodSeconds: 600, callsAllowed: 20 })
  service = await world.startService()
  await until(isReady)
}, 60_000)
afterAll(() => world.stop(), 30_000)
beforeEach(() =>
  world.devnet.controls.setUnavailable({ rpc: false, mirror: false, consensus: false }),
)

const isReady = async () => (await fetch(`${service.baseUrl}/ready`)).status === 200
const accessUrl = (agent: string, from = service) => `${from.baseUrl}/api/svc/access?agent=${agent}`
const read = async (answer: Response) => ({
  status: answer.status,
  body: (await answer.json()) as AnswerBody,
})
const call = async (agent: string, from = service) => read(await fetch(accessUrl(agent, from)))
const readyChecks = async (from = service) =>
  (
    (await (await fetch(`${from.baseUrl}/ready`)).json()) as {
      checks: Record<string, { kind: string; reason?: string }>
    }
  ).checks

/** Signs a payment for a challenge and returns its header without sending it. */
async function signedPayment(
  agent: Awaited<ReturnType<RealWorld['agent']>>,
  memo?: string,
): Promise<string> {
  let header = ''
  const recording: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    header = request.headers.get('payment-signature') ?? header
    return header === '' ? fetch(request) : new Response('{}', { status: 200 })
  }
  await payingFetch(agent, memo, recording)(accessUrl(agent.evmAddress))
  return header
}
const send = async (agent: string, header: string, from = service) =>
  read(await fetch(accessUrl(agent, from), { headers: { 'payment-signature': header } }))

/** Settles a payment as a process would that dies right after: the contract hears nothing of it. */
async function settleOnly(header: string): Promise<void> {
  const envelope = JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
  const answer = await fetch(`${world.facilitator.url}/settle`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      x402Version: 2,
      paymentPayload: envelope,
      paymentRequirements: envelope.accepted,
    }),
  })
  expect(await answer.json()).toMatchObject({ success: true })
}

/** Pays payTo as an Ethereum wallet does: no memo, and no x402. */
async function sendByEvm(
  from: Awaited<ReturnType<RealWorld['agent']>>,
  amountTinybar: bigint,
): Promise<void> {
  const transport = http(world.devnet.rpcUrl)
  const client = createPublicClient({ transport })
  const account = privateKeyToAccount(from.privateKey)
  const hash = await createWalletClient({ account, transport }).sendTransaction({
    to: world.payTo.evmAddress,
    value: amountTinybar * 10_000_000_000n,
    chain: null,
    gas: 21_000n,
    gasPrice: await client.getGasPrice(),
    type: 'legacy',
  })
  const receipt = await client.waitForTransactionReceipt({ hash, pollingInterval: 50 })
  expect(receipt.status).toBe('success')
}

async function asOwner(
  functionName: 'setOffer' | 'pauseSales',
  args: readonly unknown[],
): Promise<void> {
  const account = privateKeyToAccount(world.owner.privateKey)
  const transport = http(world.devnet.rpcUrl)
  const client = createPublicClient({ transport })
  const hash = await createWalletClient({ account, transport }).writeContract({
    address: world.contract,
    abi: accessWindowAbi,
    functionName,
    args: args as never,
    chain: null,
    gas: 200_000n,
    gasPrice: await client.getGasPrice(),
    type: 'legacy',
  })
  const receipt = await client.waitForTransactionReceipt({ hash, pollingInterval: 50 })
  expect(receipt.status).toBe('success')
}

describe('A4: a kill between settlement and opening', () => {
  test('a new process opens what the dead one had settled, and does not ask for another payment', async () => {
    const agent = await world.agent('orphan')
    const header = await signedPayment(agent, `x402:${agent.evmAddress}`)
    await settleOnly(header)
    const next = await world.startService()
    const statuses: number[] = []
    await until(async () => {
      const { status } = await call(agent.evmAddress, next)
      statuses.push(status)
      return status === 200
    }, 60_000)
    expect(statuses).not.toContain(402)
    await next.stop()
  }, 60_000)

  test('X9: the same header sent again completes the job at once, on any replica', async () => {
    const agent = await world.agent('resent')
    const header = await signedPayment(agent)
    await settleOnly(header)
    const answer = await send(agent.evmAddress, header)
    expect(answer).toMatchObject({ status: 200, body: { paidThisRequest: true } })
  }, 60_000)

  test('X10: without a memo a found payment is honoured for its payer alone', async () => {
    const agent = await world.agent('found')
    const header = await signedPayment(agent)
    await settleOnly(header)
    const thief = await send('0x00000000000000000000000000000000000badd1', header)
    expect(thief).toMatchObject({ status: 402, body: { error: 'payment_already_used' } })
    expect((await send(agent.evmAddress, header)).status).toBe(200)
  }, 60_000)
})

describe('A4: what reaches payTo by other ways', () => {
  test('an EVM transfer of a whole purchase buys for its sender when it is 200 s old, another amount buys nothing', async () => {
    const [buyer, other] = await Promise.all([world.agent('evm-buyer'), world.agent('evm-other')])
    await sendByEvm(buyer, 1_200_000_000n)
    await sendByEvm(other, 1_199_999_999n)
    await service.sweep()
    expect((await call(buyer.evmAddress)).body.error).toBe('payment_pending')
    expect((await call(other.evmAddress)).status).toBe(402)
    await world.devnet.controls.advanceSeconds(201)
    await service.sweep()
    const opened = await call(buyer.evmAddress)
    expect(opened).toMatchObject({ status: 200, body: { paidThisRequest: false } })
    expect(opened.body.subscription.balanceTinybar).toBe('900000000')
    expect((await call(other.evmAddress)).status).toBe(402)
  }, 60_000)
})

describe('A3: price change and pause', () => {
  test('a payment at the price that was challenged is taken after a change; new challenges ask the new price', async () => {
    const agent = await world.agent('old-price')
    const header = await signedPayment(agent)
    await asOwner('setOffer', [200_000_000n, 600, 20])
    try {
      const other = await world.agent('new-price')
      expect((await call(other.evmAddress)).body.accepts?.[0]?.amount).toBe('800000000')
      expect((await send(agent.evmAddress, header)).body.subscription.balanceTinybar).toBe(
        '900000000',
      )
      const paid = await read(await payingFetch(other)(accessUrl(other.evmAddress)))
      expect(paid.body.subscription.balanceTinybar).toBe('600000000')
    } finally {
      await asOwner('setOffer', [300_000_000n, 600, 20])
    }
  }, 60_000)

  test('paused sales: 503 sales_paused, unpaid; what was settled before is opened all the same', async () => {
    const [late, settled] = await Promise.all([world.agent('late'), world.agent('settled')])
    const headers = { late: await signedPayment(late), settled: await signedPayment(settled) }
    await settleOnly(headers.settled)
    await asOwner('pauseSales', [true])
    try {
      const refused = await send(late.evmAddress, headers.late)
      expect(refused).toMatchObject({ status: 503, body: { error: 'sales_paused' } })
      expect((await send(settled.evmAddress, headers.settled)).status).toBe(200)
    } finally {
      await asOwner('pauseSales', [false])
    }
    expect((await send(late.evmAddress, headers.late)).status).toBe(200)
  }, 60_000)
})

describe('503 and 502 of the chain', () => {
  test('the access contract is not deployed: no address, or no code at it', async () => {
    const agent = await world.agent('nowhere')
    for (const contract of ['', '0x00000000000000000000000000000000000c0de0']) {
      const other = await world.startService({ ACCESS_CONTRACT: contract })
      for (const route of ['access', 'status']) {
        const answer = await read(
          await fetch(`${other.baseUrl}/api/svc/${route}?agent=${agent.evmAddress}`),
        )
        expect(answer).toEqual({ status: 503, body: { error: 'contract_not_deployed' } })
      }
      expect((await readyChecks(other))['contract']).toMatchObject({
        reason: 'contract_not_deployed',
      })
      await other.stop()
    }
  }, 60_000)

  test('another chain id, and a ledger that does not answer', async () => {
    const agent = await world.agent('elsewhere')
    const other = await world.startService({ LEDGER_CHAIN_ID: '295' })
    expect(await call(agent.evmAddress, other)).toEqual({
      status: 502,
      body: { error: 'wrong_chain' },
    })
    await other.stop()
    world.devnet.controls.setUnavailable({ rpc: true })
    for (const route of ['access', 'status']) {
      const answer = await read(
        await fetch(`${service.baseUrl}/api/svc/${route}?agent=${agent.evmAddress}`),
      )
      expect(answer).toEqual({ status: 502, body: { error: 'chain_unavailable' } })
    }
    world.devnet.controls.setUnavailable({ rpc: false })
    expect((await call(agent.evmAddress)).status).toBe(402)
  }, 60_000)
})

describe('502 of facilitator and mirror node', () => {
  test('X11: with the facilitator down an unpaid payment is 502, the service goes on and says so on /ready', async () => {
    const agent = await world.agent('no-facilitator')
    const nobody = await closedUrl()
    const other = await world.startService({ FACILITATOR_URL: nobody })
    await until(async () => (await call(agent.evmAddress, other)).body.error === 'no_fee_payer')
    expect((await readyChecks(other))['facilitator']).toMatchObject({ reason: 'no_fee_payer' })
    await other.stop()
    const feePayer = (await signedFeePayer(agent)) ?? ''
    const configured = await world.startService({
      FACILITATOR_URL: nobody,
      FEE_PAYERS: feePayer,
    })
    await until(async () => (await call(agent.evmAddress, configured)).status === 402)
    const header = await signedPayment(agent)
    expect(await send(agent.evmAddress, header, configured)).toEqual({
      status: 502,
      body: { error: 'facilitator_unavailable' },
    })
    expect((await readyChecks(configured))['facilitator']).toMatchObject({
      reason: 'facilitator_down',
    })
    await configured.stop()
    expect((await send(agent.evmAddress, header)).status).toBe(200)
  }, 60_000)

  test('A4: with the mirror node down a new process issues no challenge and serves open windows', async () => {
    const agent = await world.agent('no-mirror')
    await payingFetch(agent)(accessUrl(agent.evmAddress))
    world.devnet.controls.setUnavailable({ mirror: true })
    const other = await world.startService()
    const stranger = '0x00000000000000000000000000000000000add1e'
    await until(async () => (await call(stranger, other)).body.error === 'payments_unread')
    expect((await call(agent.evmAddress, other)).status).toBe(200)
    expect((await readyChecks(other))['mirror']).toMatchObject({ reason: 'payments_unread' })
    world.devnet.controls.setUnavailable({ mirror: false })
    await until(async () => (await call(stranger, other)).status === 402)
    await other.stop()
  }, 60_000)
})

/** An address where nobody listens. */
async function closedUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${port}`
}

async function signedFeePayer(agent: { readonly evmAddress: string }): Promise<string | undefined> {
  const challenge = (await call(agent.evmAddress)).body as unknown as {
    readonly accepts?: readonly { readonly extra: { readonly feePayer: string } }[]
  }
  return challenge.accepts?.[0]?.extra.feePayer
}

describe('the seller’s money', () => {
  test('A3: a float below one purchase and its forward is 502, unpaid, and named on /ready', async () => {
    const agent = await world.agent('floatless')
    const header = await signedPayment(agent)
    await world.devnet.controls.setBalanceTinybar(world.payTo.accountId, 1_000_000_000n)
    expect(await send(agent.evmAddress, header)).toEqual({
      status: 502,
      body: { error: 'seller_float_low' },
    })
    expect((await readyChecks())['float']).toMatchObject({ reason: 'payto_float_low' })
    await world.devnet.controls.setBalanceTinybar(world.payTo.accountId, 1_000_000_000_000n)
    expect((await send(agent.evmAddress, header)).status).toBe(200)
  }, 60_000)

  test('a recorder without gas money is named on /ready', async () => {
    await world.devnet.controls.setBalanceTinybar(world.recorder.accountId, 1n)
    expect((await readyChecks())['recorder']).toMatchObject({ reason: 'recorder_gas_low' })
    await world.devnet.controls.setBalanceTinybar(world.recorder.accountId, 1_000_000_000_000n)
    await until(isReady)
  }, 60_000)
})

test('a key that is not payTo’s is named on /ready', async () => {
  const stranger = await world.agent('not-payto')
  const other = await world.startService({ PAY_TO_KEY: stranger.privateKey })
  expect((await readyChecks(other))['float']).toMatchObject({ reason: 'payto_key_mismatch' })
  await other.stop()
}, 60_000)

describe('the network fails', () => {
  test('a forward that the network loses is sent again: one settlement, one opening', async () => {
    const agent = await world.agent('lost-forward')
    const header = await signedPayment(agent)
    world.devnet.controls.dropNextTransactions(1)
    const paying = send(agent.evmAddress, header)
    await until(async () => {
      await world.devnet.controls.advanceSeconds(1)
      return (await Promise.race([paying, Promise.resolve(undefined)])) !== undefined
    }, 60_000)
    expect(await paying).toMatchObject({
      status: 200,
      body: { paidThisRequest: true, subscription: { balanceTinybar: '900000000' } },
    })
  }, 60_000)

  test('A7: a renewal that the network could not pay for is reaped while the agent is served', async () => {
    const agent = await world.agent('unpaid-renewal')
    const paid = await read(await payingFetch(agent)(accessUrl(agent.evmAddress)))
    const { expiresAt, nextRenewalSchedule } = paid.body.subscription
    await world.devnet.controls.setBalanceTinybar(world.contract, 1n)
    await world.devnet.controls.advanceSeconds(expiresAt - world.devnet.nowSeconds() + 1)
    await world.devnet.controls.setBalanceTinybar(world.contract, 100_000_000_000n)
    await world.devnet.controls.advanceSeconds(35)
    expect((await call(agent.evmAddress)).body.subscription.nextRenewalSchedule).toBe(
      `0x${'0'.repeat(40)}`,
    )
    await until(async () => {
      const { nextRenewalSchedule: next } = (await call(agent.evmAddress)).body.subscription
      return next !== `0x${'0'.repeat(40)}` && next !== nextRenewalSchedule
    })
  }, 60_000)
})
