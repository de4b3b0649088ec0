/** Payments that the service did not settle itself, or at other terms than today's: none is lost. */
import { createPublicClient, createWalletClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  asOwner,
  createServiceCalls,
  type LocalStack,
  type RunningService,
  type ServiceCalls,
  startLocalStack,
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

/** Settles a payment as a process would that dies right after: the contract hears nothing of it. */
async function settleOnly(header: string): Promise<void> {
  const envelope = JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
  const answer = await fetch(`${stack.facilitator.url}/settle`, {
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
  from: Awaited<ReturnType<LocalStack['agent']>>,
  amountTinybar: bigint,
): Promise<void> {
  const transport = http(stack.devnet.rpcUrl)
  const client = createPublicClient({ transport })
  const account = privateKeyToAccount(from.privateKey)
  const hash = await createWalletClient({ account, transport }).sendTransaction({
    to: stack.payTo.evmAddress,
    value: amountTinybar * 10_000_000_000n,
    chain: null,
    gas: 21_000n,
    gasPrice: await client.getGasPrice(),
    type: 'legacy',
  })
  const receipt = await client.waitForTransactionReceipt({ hash, pollingInterval: 50 })
  expect(receipt.status).toBe('success')
}

describe('A4: a kill between settlement and opening', () => {
  test('a new process opens what the dead one had settled, and does not ask for another payment', async () => {
    const agent = await stack.agent('orphan')
    const header = await here.signedPayment(agent, `x402:${agent.evmAddress}`)
    await settleOnly(header)
    const next = await stack.startService()
    const statuses: number[] = []
    await untilInTime(stack, async () => {
      const { status } = await createServiceCalls(next).call(agent.evmAddress)
      statuses.push(status)
      return status === 200
    })
    expect(statuses).not.toContain(402)
    await next.stop()
  })

  test('X9: the same header sent again completes the job at once, on any replica', async () => {
    const agent = await stack.agent('resent')
    const header = await here.signedPayment(agent)
    await settleOnly(header)
    const answer = await here.send(agent.evmAddress, header)
    expect(answer).toMatchObject({ status: 200, body: { paidThisRequest: true } })
  })

  test('X10: without a memo a found payment is honoured for its payer alone', async () => {
    const agent = await stack.agent('found')
    const header = await here.signedPayment(agent)
    await settleOnly(header)
    const thief = await here.send('0x00000000000000000000000000000000000badd1', header)
    expect(thief).toMatchObject({ status: 402, body: { error: 'payment_already_used' } })
    expect((await here.send(agent.evmAddress, header)).status).toBe(200)
  })
})

describe('A4: what reaches payTo by other ways', () => {
  test('an EVM transfer of a whole purchase buys for its sender when it is 200 s old, another amount buys nothing', async () => {
    const [buyer, other] = await Promise.all([stack.agent('evm-buyer'), stack.agent('evm-other')])
    await sendByEvm(buyer, 1_200_000_000n)
    await sendByEvm(other, 1_199_999_999n)
    await service.sweep.sweep()
    expect((await here.call(buyer.evmAddress)).body.error).toBe('payment_pending')
    expect((await here.call(other.evmAddress)).status).toBe(402)
    await stack.devnet.controls.advanceSeconds(201)
    await service.sweep.sweep()
    const opened = await here.call(buyer.evmAddress)
    expect(opened).toMatchObject({ status: 200, body: { paidThisRequest: false } })
    expect(opened.body.subscription.balanceTinybar).toBe('900000000')
    expect((await here.call(other.evmAddress)).status).toBe(402)
  })
})

describe('A3: price change and pause', () => {
  test('a payment at the price that was challenged is taken after a change; new challenges ask the new price', async () => {
    const agent = await stack.agent('old-price')
    const header = await here.signedPayment(agent)
    await asOwner(stack, { functionName: 'setOffer', args: [200_000_000n, 600, 20, 1] })
    try {
      const other = await stack.agent('new-price')
      await untilInTime(stack, async () => {
        const { accepts } = (await here.call(other.evmAddress)).body
        return accepts?.[0]?.amount === '800000000'
      })
      expect((await here.send(agent.evmAddress, header)).body.subscription.balanceTinybar).toBe(
        '900000000',
      )
      const paid = await here.pay(other)
      expect(paid.body.subscription.balanceTinybar).toBe('600000000')
    } finally {
      await asOwner(stack, { functionName: 'setOffer', args: [300_000_000n, 600, 20, 1] })
    }
  })

  test('paused sales: 503 sales_paused, unpaid; what was settled before is opened all the same', async () => {
    const [late, settled] = await Promise.all([stack.agent('late'), stack.agent('settled')])
    const headers = {
      late: await here.signedPayment(late),
      settled: await here.signedPayment(settled),
    }
    await settleOnly(headers.settled)
    await asOwner(stack, { functionName: 'pauseSales', args: [true] })
    try {
      // Calls of one moment share a read of the contract: the pause counts from the next one.
      await untilInTime(
        stack,
        async () => (await here.call(late.evmAddress)).body.error === 'sales_paused',
      )
      const refused = await here.send(late.evmAddress, headers.late)
      expect(refused).toMatchObject({ status: 503, body: { error: 'sales_paused' } })
      expect((await here.send(settled.evmAddress, headers.settled)).status).toBe(200)
    } finally {
      await asOwner(stack, { functionName: 'pauseSales', args: [false] })
    }
    await untilInTime(
      stack,
      async () => (await here.send(late.evmAddress, headers.late)).status === 200,
    )
  })
})
