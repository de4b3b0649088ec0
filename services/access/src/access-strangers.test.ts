/** What a stranger who reads an agent's address from the chain can spend of the seller's money, on a real local ledger. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createServiceCalls,
  type LocalStack,
  startLocalStack,
  untilInTime,
} from './testing/local-stack.ts'

const HBAR = 100_000_000n
/** So many records, each alone, cost more than 10 HBAR. */
const CALLS = 289
/** AGENT_CALLS_PER_SECOND by default, and four seconds' worth of it. */
const PER_SECOND = 50
const BURST = 200

let stack: LocalStack

beforeAll(async () => {
  stack = await startLocalStack({ periodSeconds: 3_600, callsAllowed: 1_000 })
})
afterAll(() => stack.stop())

const recorderTinybar = async () => {
  const answer = await fetch(
    `${stack.devnet.mirrorUrl}/api/v1/accounts/${stack.recorder.accountId}?transactions=false`,
  )
  const { balance } = (await answer.json()) as { readonly balance: { readonly balance: number } }
  return BigInt(balance.balance)
}

test('A18: a stranger who calls as an unguarded agent does not empty a recorder of 10 HBAR, and nobody else gets 502', async () => {
  const service = await stack.startService({
    AGENT_CALLS_PER_SECOND: '0',
    ADDRESS_CALLS_PER_SECOND: '0',
  })
  const here = createServiceCalls(service)
  await untilInTime(stack, here.isReady)
  const [victim, other] = [await stack.agent('victim'), await stack.agent('other')]
  for (const agent of [victim, other]) expect((await here.pay(agent)).status).toBe(200)
  await stack.devnet.controls.setBalanceTinybar(stack.recorder.accountId, 10n * HBAR)
  for (let call = 0; call < CALLS; call += 1)
    expect((await here.call(victim.evmAddress)).status).toBe(200)
  expect((await here.call(other.evmAddress)).status).toBe(200)
  expect(await recorderTinybar()).toBeGreaterThan(9n * HBAR)
})

test('A17: at the default rate a stranger who sends 999 calls at once is served as many as a burst holds', async () => {
  const here = createServiceCalls(await stack.startService())
  await untilInTime(stack, here.isReady)
  const victim = await stack.agent('hurried')
  expect((await here.pay(victim)).status).toBe(200)
  const before = await recorderTinybar()
  const startMs = stack.devnet.clock.unixMs()
  const answers = await Promise.all(Array.from({ length: 999 }, () => here.call(victim.evmAddress)))
  const seconds = Math.ceil((stack.devnet.clock.unixMs() - startMs) / 1000)
  const refused = answers.filter(({ status }) => status === 429)
  expect(999 - refused.length).toBeLessThanOrEqual(BURST + seconds * PER_SECOND)
  for (const { body } of refused) expect(body.error).toBe('too_many_requests')
  expect(before - (await recorderTinybar())).toBeLessThan(HBAR)
})
