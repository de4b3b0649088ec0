import { afterAll, beforeAll, expect, it } from 'vitest'
import { isRunning } from '../../scripts/stack/stack-file.ts'
import { eventually } from './eventually.ts'
import { type KillableStack, startKillableStack } from './killable-stack.ts'
import { accessUrl, paySigned } from './pay-signed.ts'

const FUNDS_TINYBAR = 2_000_000_000n
/** S6. */
const STOP_MS_MAX = 10_000

let stack: KillableStack
beforeAll(async () => {
  stack = await startKillableStack()
}, 90_000)
afterAll(() => stack.stop(), 40_000)

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
