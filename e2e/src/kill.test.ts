// Access is killed with SIGKILL at every step of a purchase. A payment settled by then buys its window once and is never
// requested again, and no log has a key.
import { accessWindowAbi } from '@tallystick/contracts'
import type { DevnetAccount } from '@tallystick/devnet'
import { ExactHederaClient, hederaSigner } from '@tallystick/x402/hedera'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { createPublicClient, http } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from './eventually.ts'
import { type ReplicaStack, startReplicaStack, untilReady } from './replica-stack.ts'

const HBAR = 100_000_000n
const FUNDS_TINYBAR = 20n * HBAR
/** Four periods of 3 HBAR. */
const PURCHASE_TINYBAR = 12n * HBAR
const isLong = process.env['TALLYSTICK_LONG'] === '1'
const KILLS = isLong ? 50 : 8
/** Longer than a purchase takes on a busy machine, milliseconds after its payment was sent. */
const LAST_KILL_MS = 160
const KILLS_MS = Array.from({ length: KILLS }, (_, index) =>
  Math.round((index * LAST_KILL_MS) / (KILLS - 1)),
)

let stack: ReplicaStack

beforeAll(async () => {
  stack = await startReplicaStack({ periodSeconds: 20, callsAllowed: 200 }, 1)
})
afterAll(() => stack.stop())

const newAgent = (name: string): Promise<DevnetAccount> =>
  stack.devnet.createAccount({ name, balanceTinybar: FUNDS_TINYBAR })

const accessUrl = (agent: DevnetAccount): string =>
  `${stack.baseUrls[0]}/api/svc/access?agent=${agent.evmAddress}`

async function readStatus(agent: DevnetAccount): Promise<number> {
  const answer = await fetch(accessUrl(agent))
  await answer.body?.cancel()
  return answer.status
}

/** Polls until one of these is answered; every status on the way. */
async function statusesUntil(
  wanted: readonly number[],
  agent: DevnetAccount,
): Promise<ReadonlySet<number>> {
  const statuses = new Set<number>()
  const isOver = async () => {
    const status = await readStatus(agent)
    statuses.add(status)
    return wanted.includes(status)
  }
  await eventually(isOver)
  return statuses
}

const spentTinybar = async (agent: DevnetAccount): Promise<bigint> =>
  FUNDS_TINYBAR - (await stack.balanceTinybar(agent))

/** What the contract has earned from an agent and holds for it, from its events. */
async function boughtTinybar(agent: DevnetAccount): Promise<readonly bigint[]> {
  const client = createPublicClient({ transport: http(stack.devnet.rpcUrl) })
  const consumed = await client.getContractEvents({
    abi: accessWindowAbi,
    address: stack.contract,
    eventName: 'PaymentConsumed',
    args: { agent: agent.evmAddress },
    fromBlock: 0n,
  })
  return consumed.map(({ args }) => args.valueTinybar ?? 0n)
}

/**
 * Starts to pay with the official client, which signs at the first 402, and returns once the signed request has left.
 * `answered` is the last status; undefined if the connection was cut.
 */
async function startPaying(
  agent: DevnetAccount,
): Promise<{ readonly answered: Promise<number | undefined> }> {
  const scheme = new ExactHederaClient({
    signer: hederaSigner(agent),
    memo: `x402:${agent.evmAddress}`,
  })
  const client = new x402Client().register('hedera:*', scheme)
  const maxAmountPerPayment = String(PURCHASE_TINYBAR)
  client.setSpendControls({
    allowedAssets: [{ network: 'hedera:testnet', asset: '0.0.0', maxAmountPerPayment }],
  })
  const sent = Promise.withResolvers<void>()
  const countedFetch: typeof fetch = (input, init) => {
    const request = new Request(input, init)
    if (request.headers.has('payment-signature')) sent.resolve()
    return fetch(request)
  }
  const answered = wrapFetchWithPayment(
    countedFetch,
    client,
  )(accessUrl(agent)).then(
    ({ status }) => status,
    () => undefined,
  )
  await Promise.race([sent.promise, answered])
  return { answered }
}

/** The same, until the network holds the payment. */
async function startHeldPayment(agent: DevnetAccount) {
  const { controls } = stack.devnet
  controls.holdConsensus(true)
  const paying = await startPaying(agent)
  await eventually(() => controls.heldTransfers() === 1)
  return paying
}

it('S6: SIGTERM while the network holds a payment: its request is answered, exit within 10 s, the next process opens it', async () => {
  const agent = await newAgent('stopped')
  const { answered } = await startHeldPayment(agent)
  await stack.kill(0, 'SIGTERM')
  expect(await answered).toBe(502)
  expect(stack.logs()).toContain('"stopped"')
  expect(stack.logs()).not.toContain('stopping took too long')
  stack.devnet.controls.holdConsensus(false)
  await stack.restart(0)
  await statusesUntil([200], agent)
})

it('A4: kill -9 at every stage of a purchase: nothing is charged twice, nothing paid is lost', async () => {
  const stages: string[] = []
  for (const killMs of KILLS_MS) {
    await untilReady(stack.baseUrls[0] ?? '')
    const agent = await newAgent(`killed-${killMs}`)
    const { answered } = await startPaying(agent)
    await new Promise((resolve) => setTimeout(resolve, killMs))
    await stack.kill(0)
    const answer = await answered
    await stack.restart(0)
    const statuses = await statusesUntil([200, 402], agent)
    const spent = await spentTinybar(agent)
    const bought = await boughtTinybar(agent)
    stages.push(`${killMs} ms: ${answer ?? 'cut'}, paid ${spent}, then ${[...statuses].join(' ')}`)
    expect([0n, PURCHASE_TINYBAR], stages.join('\n')).toContain(spent)
    expect(bought, stages.join('\n')).toEqual(spent === 0n ? [] : [PURCHASE_TINYBAR])
    expect(statuses.has(402), stages.join('\n')).toBe(spent === 0n)
  }
})

it('X9: the facilitator is killed while the network holds the payment: pending until it lands, then open, charged once', async () => {
  await untilReady(stack.baseUrls[0] ?? '')
  const agent = await newAgent('in-doubt')
  const { answered } = await startHeldPayment(agent)
  await stack.kill('facilitator')
  expect(await answered).toBe(502)
  expect(await readStatus(agent)).toBe(502)
  stack.devnet.controls.holdConsensus(false)
  expect([...(await statusesUntil([200], agent))]).not.toContain(402)
  expect(await spentTinybar(agent)).toBe(PURCHASE_TINYBAR)
  expect(await boughtTinybar(agent)).toEqual([PURCHASE_TINYBAR])
})

it('S3: no key is in any log', () => {
  const logs = stack.logs().toLowerCase()
  expect(logs).toContain('"opened"')
  for (const { privateKey } of stack.devnet.accounts)
    expect(logs).not.toContain(privateKey.slice(2).toLowerCase())
})
