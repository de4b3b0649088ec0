// Access is killed with SIGKILL at every step of a purchase. A payment settled by then buys its window once and is never
// requested again, and no log has a key.
import { accessWindowAbi } from '@tallystick/contracts'
import { createPublicClient, http } from 'viem'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isRunning } from '../../scripts/stack/stack-file.ts'
import { eventually } from './eventually.ts'
import { type KillableStack, type LedgerAccount, startKillableStack } from './killable-stack.ts'
import { accessUrl, PURCHASE_TINYBAR, paySigned } from './pay-signed.ts'

const HBAR = 100_000_000n
const FUNDS_TINYBAR = 20n * HBAR
/** S6. */
const STOP_MS_MAX = 10_000
const isLong = process.env['TALLYSTICK_LONG'] === '1'
const KILLS = isLong ? 50 : 8
/** Longer than a purchase takes on a busy machine, milliseconds after its payment was sent. */
const LAST_KILL_MS = 160
const KILLS_MS = Array.from({ length: KILLS }, (_, index) =>
  Math.round((index * LAST_KILL_MS) / (KILLS - 1)),
)

let stack: KillableStack

beforeAll(async () => {
  stack = await startKillableStack()
}, 90_000)
afterAll(() => stack.stop(), 40_000)

async function statusOf(agent: LedgerAccount): Promise<number> {
  const answer = await fetch(accessUrl(stack, agent))
  await answer.body?.cancel()
  return answer.status
}

async function isReady(): Promise<boolean> {
  const answer = await fetch(`${stack.description.access.baseUrl}/ready`)
  await answer.body?.cancel()
  return answer.ok
}

async function spentTinybar(agent: LedgerAccount): Promise<bigint> {
  const balance = BigInt(await stack.ledger<string>('eth_getBalance', agent.evmAddress, 'latest'))
  return FUNDS_TINYBAR - balance / 10_000_000_000n
}

/** What the contract has earned from an agent and holds for it, from its events. */
async function boughtTinybar(agent: LedgerAccount): Promise<readonly bigint[]> {
  const client = createPublicClient({ transport: http(stack.description.ledger.rpcUrl) })
  const consumed = await client.getContractEvents({
    abi: accessWindowAbi,
    address: stack.description.access.contract as `0x${string}`,
    eventName: 'PaymentConsumed',
    args: { agent: agent.evmAddress },
    fromBlock: 0n,
  })
  return consumed.map(({ args }) => args.valueTinybar ?? 0n)
}

it('S6: SIGTERM while the network holds a payment: its request is answered, exit within 10 s, the next process opens it', async () => {
  const agent = await stack.newAgent('stopped', FUNDS_TINYBAR)
  await stack.ledger('devnet_holdConsensus', true)
  const sent = Promise.withResolvers<void>()
  const paying = paySigned(stack, agent, sent.resolve)
  await Promise.race([sent.promise, paying])
  const isHeld = async () => (await stack.ledger('devnet_heldTransfers')) === 1
  await eventually(isHeld, { timeoutMs: 10_000 })
  const pid = stack.description.process.children['access'] ?? 0
  process.kill(pid, 'SIGTERM')
  await eventually(() => !isRunning(pid), { timeoutMs: STOP_MS_MAX })
  expect(await paying).toBe(502)
  expect(stack.logs()).toContain('"stopped"')
  expect(stack.logs()).not.toContain('stopping took too long')
  await stack.ledger('devnet_holdConsensus', false)
  await stack.restartAccess()
  const isOpen = async () => (await fetch(accessUrl(stack, agent))).status === 200
  await eventually(isOpen, { timeoutMs: 20_000 })
}, 60_000)

it(
  'A4: kill -9 at every stage of a purchase: nothing is charged twice, nothing paid is lost',
  async () => {
    const stages: string[] = []
    for (const killMs of KILLS_MS) {
      await eventually(isReady, { timeoutMs: 20_000 })
      const agent = await stack.newAgent(`killed-${killMs}`, FUNDS_TINYBAR)
      const sent = Promise.withResolvers<void>()
      const paying = paySigned(stack, agent, sent.resolve)
      await Promise.race([sent.promise, paying])
      await new Promise((resolve) => setTimeout(resolve, killMs))
      await stack.kill('access')
      const answered = await paying
      await stack.restartAccess()
      const statuses = new Set<number>()
      await eventually(
        async () => {
          const status = await statusOf(agent)
          statuses.add(status)
          return status === 200 || status === 402
        },
        { timeoutMs: 30_000 },
      )
      const spent = await spentTinybar(agent)
      const bought = await boughtTinybar(agent)
      stages.push(
        `${killMs} ms: ${answered ?? 'cut'}, paid ${spent}, then ${[...statuses].join(' ')}`,
      )
      expect([0n, PURCHASE_TINYBAR], stages.join('\n')).toContain(spent)
      expect(bought, stages.join('\n')).toEqual(spent === 0n ? [] : [PURCHASE_TINYBAR])
      expect(statuses.has(402), stages.join('\n')).toBe(spent === 0n)
    }
  },
  isLong ? 600_000 : 120_000,
)

it('X9: the facilitator is killed while the network holds the payment: pending until it lands, then open, charged once', async () => {
  await eventually(isReady, { timeoutMs: 20_000 })
  const agent = await stack.newAgent('in-doubt', FUNDS_TINYBAR)
  await stack.ledger('devnet_holdConsensus', true)
  const sent = Promise.withResolvers<void>()
  const paying = paySigned(stack, agent, sent.resolve)
  await Promise.race([sent.promise, paying])
  const isHeld = async () => (await stack.ledger('devnet_heldTransfers')) === 1
  await eventually(isHeld, { timeoutMs: 10_000 })
  await stack.kill('facilitator')
  expect(await paying).toBe(502)
  expect(await statusOf(agent)).toBe(502)
  await stack.ledger('devnet_holdConsensus', false)
  const statuses = new Set<number>()
  await eventually(
    async () => {
      statuses.add(await statusOf(agent))
      return statuses.has(200)
    },
    { timeoutMs: 30_000 },
  )
  expect([...statuses]).not.toContain(402)
  expect(await spentTinybar(agent)).toBe(PURCHASE_TINYBAR)
  expect(await boughtTinybar(agent)).toEqual([PURCHASE_TINYBAR])
}, 90_000)

it('S3: no key is in any log', async () => {
  const accounts = await stack.ledger<LedgerAccount[]>('devnet_accounts')
  const logs = stack.logs().toLowerCase()
  expect(logs).toContain('"opened"')
  for (const { privateKey } of accounts)
    expect(logs).not.toContain(privateKey.slice(2).toLowerCase())
})
