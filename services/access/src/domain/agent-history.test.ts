import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { LedgerUnavailable } from '@tallystick/x402'
import { beforeEach, expect, test } from 'vitest'
import { openWindow } from '../testing/fake-contract.ts'
import type { AccessWindow, Hex } from './access-window.ts'
import { type AgentEvent, type AgentHistory, createEventReader } from './agent-history.ts'

const AGENT: Hex = `0x${'a'.repeat(40)}`
const agentAt = (index: number): Hex => `0x${index.toString(16).padStart(40, '0')}`

let clock: ManualClock
let requests: string[]
let own: AgentEvent[]
let ends: number[]
let window: AccessWindow | undefined
let failure: Error | undefined

beforeEach(() => {
  clock = manualClock(1_000_000)
  requests = []
  own = []
  ends = []
  window = openWindow(140)
  failure = undefined
})

const reader = (change: Partial<AgentHistory> = {}) =>
  createEventReader({
    clock,
    knownWindow: () => window,
    history: {
      async ownEvents(agent) {
        requests.push(agent)
        if (failure !== undefined) throw failure
        return own
      },
      renewals: async () =>
        ends.map((end) => ({ kind: 'renewed', atSeconds: end - 20, windowEndsAtSeconds: end })),
      ...change,
    },
  })

const opened: AgentEvent = {
  kind: 'opened',
  atSeconds: 70,
  windowEndsAtSeconds: 100,
  balanceTinybar: 1n,
}

test('of a slot’s renewals an agent’s are those since it opened, of windows that it paid for, in order with the rest', async () => {
  own = [{ kind: 'guard-set', atSeconds: 110, isGuarded: true }, opened]
  // Three periods of 20 s are paid for after 140.
  ends = [220, 200, 140, 120, 100, 80]
  const read = await reader()(AGENT)
  expect(
    read.kind === 'read' && read.events.map(({ kind, atSeconds }) => [kind, atSeconds]),
  ).toEqual([
    ['renewed', 180],
    ['renewed', 120],
    ['guard-set', 110],
    ['renewed', 100],
    ['opened', 70],
  ])
})

test('many renewals do not hide what else happened', async () => {
  own = [opened]
  window = openWindow(10_000)
  ends = Array.from({ length: 100 }, (_, at) => 10_000 - at * 20)
  const read = await reader()(AGENT)
  expect(read.kind === 'read' && [read.events.length, read.events.at(-1)]).toEqual([11, opened])
})

test('an agent’s events are read once in ten seconds', async () => {
  const read = reader()
  await Promise.all([read(AGENT), read(AGENT)])
  expect(requests).toHaveLength(1)
  clock.advanceMs(10_000)
  await read(AGENT)
  expect(requests).toHaveLength(2)
})

test('whoever asks for many agents takes no more of the mirror node than a read a second', async () => {
  const read = reader()
  const kinds = []
  for (let index = 0; index < 20; index += 1) kinds.push((await read(agentAt(index))).kind)
  expect(kinds.filter((kind) => kind === 'read')).toHaveLength(4)
  expect(kinds.at(-1)).toBe('too-many')
  clock.advanceMs(11_000)
  expect((await read(agentAt(19))).kind).toBe('read')
})

test('a mirror node that refuses or is away is unread, and asked again by the next page', async () => {
  failure = new LedgerUnavailable('the mirror node answered 429')
  const read = reader()
  expect(await read(AGENT)).toEqual({ kind: 'unread' })
  failure = undefined
  expect((await read(AGENT)).kind).toBe('read')
})

test('A28: nobody waits longer than three seconds for a mirror node; what it answers later is for the next page', async () => {
  const late = Promise.withResolvers<readonly AgentEvent[]>()
  const read = reader({ ownEvents: () => late.promise })
  const waited = read(AGENT)
  await clock.advanceMsSettled(3_000)
  expect(await waited).toEqual({ kind: 'unread' })
  late.resolve([opened])
  expect(await read(AGENT)).toEqual({ kind: 'read', events: [opened] })
})

test('a bug is no silence of the mirror node', async () => {
  failure = new TypeError('a bug')
  await expect(reader()(AGENT)).rejects.toThrow('a bug')
})
