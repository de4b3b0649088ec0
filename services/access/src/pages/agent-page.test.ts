import { LedgerUnavailable } from '@tallystick/x402'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AgentEvent } from '../domain/agent-history.ts'
import { openWindow } from '../testing/fake-contract.ts'
import {
  AGENT,
  createFakes,
  type Fakes,
  START_SECONDS,
  startFakeService,
} from '../testing/fake-service.ts'
import { agentPage } from './agent-page.ts'
import { timeWords } from './time-words.ts'

let fakes: Fakes
let service: Awaited<ReturnType<typeof startFakeService>>
let events: readonly AgentEvent[]
let failure: Error | undefined

beforeEach(async () => {
  fakes = createFakes()
  events = []
  failure = undefined
  fakes.agentHistory = {
    async ownEvents() {
      if (failure !== undefined) throw failure
      return events
    },
    renewals: async () => [],
  }
  service = await startFakeService(fakes)
})
afterEach(() => service.close())

const visit = async (query = `?agent=${AGENT}`) => {
  const { body, headers, statusCode } = await service.app.inject(`/agent${query}`)
  return { body, headers, statusCode }
}

describe('the page of an agent', () => {
  test('A28: without a script shows the window, what is left of it, its money and what happened', async () => {
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 15))
    const atSeconds = START_SECONDS - 5
    events = [
      { kind: 'guard-set', atSeconds: atSeconds + 1, isGuarded: true },
      {
        kind: 'opened',
        atSeconds,
        windowEndsAtSeconds: START_SECONDS + 15,
        balanceTinybar: 900_000_000n,
      },
    ]
    const { body, headers, statusCode } = await visit()
    expect(statusCode).toBe(200)
    expect(headers['cache-control']).toBe('no-store')
    expect(headers['content-security-policy']).toContain("form-action 'self'")
    for (const words of [
      'Open: calls are served. It renews itself at 2027-01-15 08:00:15 UTC.',
      '15 s of 20 s',
      '19 of 20',
      '9 HBAR<small>900000000 tinybar</small>',
      'Guarded: calls must prove the agent’s key.',
      'Opened, to 2027-01-15 08:00:15 UTC; 9 HBAR were left.',
    ])
      expect(body).toContain(words)
    // A bar has its words beside it, and is no second picture for who hears the page.
    expect(body.match(/<svg class="bar"[^>]*aria-hidden="true"/g)).toHaveLength(3)
  })

  test('says why a window has ended, and what a purchase costs', async () => {
    fakes.contract.windows.set(
      AGENT,
      openWindow(START_SECONDS - 60, { isOpen: false, balanceTinybar: 0n, periodsFunded: 0 }),
    )
    expect((await visit()).body).toContain('Spent: since 2027-01-15T07:59:00Z')
  })

  test('of a stranger has no bars; without an agent asks for one; of no address is 400 and reads nothing', async () => {
    const stranger = await visit()
    expect(stranger.body).toContain('has no window here, and never had one')
    expect(stranger.body).not.toContain('<svg')
    fakes.contract.reads.length = 0
    const none = await visit('')
    expect([none.statusCode, none.body.includes('<form action="/agent"')]).toEqual([200, true])
    for (const query of ['?agent=0x1', '?agent=%22%3E%3Cb%3E', `?agent=${AGENT}&agent=${AGENT}`]) {
      const { body, statusCode } = await visit(query)
      expect([statusCode, body.includes('is no EVM address'), body.includes('<b>')]).toEqual([
        400,
        true,
        false,
      ])
    }
    expect(fakes.contract.reads).toEqual([])
  })

  test('shows the window though the mirror node is away or turns it away, and says what is missing', async () => {
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 15))
    failure = new LedgerUnavailable('the mirror node answered 429')
    const { body, statusCode } = await visit()
    expect(statusCode).toBe(200)
    expect(body).toContain('15 s of 20 s')
    expect(body).toContain('This was not read: the mirror node does not answer')
    expect(body).not.toContain('Nothing in the last seven days')
  })

  test('says how far a mirror node is behind', async () => {
    const page = await agentPage(
      {
        readStatus: async () => (await service.app.inject(`/api/svc/status?agent=${AGENT}`)).json(),
        readEvents: async () => ({ kind: 'read', events: [] }),
        mirrorBehindSeconds: () => 190,
      },
      AGENT,
    )
    expect(String(page.body)).toContain('is 3 min 10 s behind the ledger')
  })

  test('is a page with a sentence, and as many as any answer, when the ledger does not answer or has no contract', async () => {
    fakes.contract.isDown = true
    const down = await visit()
    expect([down.statusCode, down.headers['content-type']]).toEqual([
      502,
      'text/html; charset=utf-8',
    ])
    expect(down.body).toContain('The window was not read. The ledger did not answer.')
    fakes.contract.isDown = false
    fakes.contract.isAbsent = true
    const absent = await visit()
    expect(absent.statusCode).toBe(503)
    expect(absent.body).toContain('is not deployed on the target network')
  })
})

test('a length of time has its two largest units', () => {
  expect([0, 59, 60, 3_599, 3_600, 3_725, 90_000, 172_805].map(timeWords)).toEqual([
    '0 s',
    '59 s',
    '1 min',
    '59 min 59 s',
    '1 h',
    '1 h 2 min',
    '1 d 1 h',
    '2 d',
  ])
})
