// A17: how often one agent and one address may call, over the route.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openWindow } from '../testing/fake-contract.ts'
import { AGENT, type Fakes, OTHER_AGENT, START_SECONDS } from '../testing/fake-service.ts'
import { type AccessRoute, accessUrl, startAccessRoute } from './access-route.fixture.ts'

let route: AccessRoute
let fakes: Fakes

const open = () => openWindow(START_SECONDS + 1_000, { callsAllowed: 1_000 })

async function start(environment: Readonly<Record<string, string>>): Promise<void> {
  route = await startAccessRoute({
    AGENT_CALLS_PER_SECOND: '1',
    ADDRESS_CALLS_PER_SECOND: '2',
    ...environment,
  })
  fakes = route.fakes
  for (const agent of [AGENT, OTHER_AGENT]) fakes.contract.windows.set(agent, open())
}

beforeEach(() => start({}))
afterEach(() => route.close())

/** An agent without a window, another for each digit. */
const agents = (digit: number) => `0x${String(digit).repeat(40)}`

type From = { readonly agent?: string; readonly address?: string; readonly forwarded?: string }

async function readStatus({ agent = AGENT, address = '203.0.113.7', forwarded }: From) {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  const answer = await route.inject({ url: accessUrl(agent), remoteAddress: address, headers })
  return answer.statusCode
}

async function readStatuses(count: number, from: From): Promise<readonly number[]> {
  const statuses = []
  for (let at = 0; at < count; at += 1) statuses.push(await readStatus(from))
  return statuses
}

describe('A17: an unguarded agent', () => {
  test('too many calls are 429 too_many_requests with Retry-After, and cost no quota', async () => {
    expect(await readStatuses(4, {})).toEqual([200, 200, 200, 200])
    const answer = await route.inject({ url: accessUrl(), remoteAddress: '203.0.113.8' })
    expect(answer.statusCode).toBe(429)
    expect(answer.json()).toEqual({ error: 'too_many_requests' })
    expect(answer.headers['retry-after']).toBe('1')
    expect(fakes.recorded).toHaveLength(4)
    await fakes.clock.advanceMsSettled(1_000)
    expect(await readStatus({ address: '203.0.113.8' })).toBe(200)
  })

  test('A14: of a rate for all processes each serves its part', async () => {
    await route.close()
    await start({
      RECORDER_COUNT: '2',
      SESSION_SECRET: 'what both processes of this test share',
      AGENT_CALLS_PER_SECOND: '2',
      ADDRESS_CALLS_PER_SECOND: '4',
    })
    expect(await readStatuses(5, {})).toEqual([200, 200, 200, 200, 429])
    const answers = []
    for (let at = 0; at < 10; at += 1)
      answers.push(await readStatus({ agent: agents(at), address: '203.0.113.10' }))
    expect(answers.filter((status) => status === 402)).toHaveLength(8)
    expect(answers.slice(8)).toEqual([429, 429])
  })

  test('a spent quota stays its own answer, quota_exhausted', async () => {
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 1_000, { callsUsed: 20 }))
    expect((await route.call()).json()).toEqual({ error: 'quota_exhausted' })
  })

  test('from many addresses is still one agent; another agent is served', async () => {
    for (const last of [1, 2, 3, 4])
      expect(await readStatus({ address: `198.51.100.${last}` })).toBe(200)
    expect(await readStatus({ address: '198.51.100.5' })).toBe(429)
    expect(await readStatus({ address: '198.51.100.5', agent: OTHER_AGENT })).toBe(200)
  })
})

describe('A17: one address', () => {
  test('is limited before the chain is read, whichever agents it names', async () => {
    const statuses = []
    for (let at = 0; at < 9; at += 1) statuses.push(await readStatus({ agent: agents(at) }))
    expect(statuses).toEqual([402, 402, 402, 402, 402, 402, 402, 402, 429])
    const { length } = fakes.contract.reads
    expect(await readStatus({ agent: OTHER_AGENT })).toBe(429)
    expect(fakes.contract.reads).toHaveLength(length)
    expect(await readStatus({ agent: OTHER_AGENT, address: '203.0.113.9' })).toBe(200)
  })

  test('an IPv6 customer has one /64, however many addresses', async () => {
    const statuses = []
    for (let last = 1; last <= 9; last += 1)
      statuses.push(await readStatus({ agent: agents(last), address: `2001:db8:1:2::${last}` }))
    expect(statuses.at(-1)).toBe(429)
  })

  test('a malformed agent is 400 and counts for nobody', async () => {
    expect(await readStatuses(20, { agent: 'nobody' })).toEqual(
      Array.from({ length: 20 }, () => 400),
    )
    expect(await readStatus({})).toBe(200)
  })

  test('status is free to poll', async () => {
    const url = `/api/svc/status?agent=${AGENT}`
    for (let at = 0; at < 50; at += 1) expect((await route.inject(url)).statusCode).toBe(200)
  })
})

describe('TRUST_PROXY_HOPS', () => {
  test('0: X-Forwarded-For is nobody’s address, so that none can be made up', async () => {
    const statuses = []
    for (let at = 0; at < 9; at += 1)
      statuses.push(await readStatus({ agent: agents(at), forwarded: `198.51.100.${at}` }))
    expect(statuses.at(-1)).toBe(429)
  })

  test('1: the last entry is the client; what it wrote before that is not believed', async () => {
    await route.close()
    await start({ TRUST_PROXY_HOPS: '1' })
    const statuses = []
    for (let at = 0; at < 9; at += 1)
      statuses.push(
        await readStatus({ agent: agents(at), forwarded: `198.51.100.${at}, 203.0.113.50` }),
      )
    expect(statuses.at(-1)).toBe(429)
    expect(await readStatus({ forwarded: '198.51.100.1, 203.0.113.51' })).toBe(200)
  })
})

test('0 is no limit, for agent and address', async () => {
  await route.close()
  await start({ AGENT_CALLS_PER_SECOND: '0', ADDRESS_CALLS_PER_SECOND: '0' })
  expect(new Set(await readStatuses(50, {}))).toEqual(new Set([200]))
})
