// Scopes that cannot be read, and scopes with unusual names, on every door that takes a token (C24).
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RESOURCE } from '../testing/care.fixture.ts'
import { type RunningCare, startRunningCare } from '../testing/running-care.fixture.ts'
import { CARE_SCOPES, isCareScope, isWriter, mayRead, mayWrite, readReach } from './scopes.ts'

const UNREADABLE = ['%E0%A4%A', '%', '%zz', '%ed%a0%80', 'a%2Fb', 'a%7Cb', '%00', ''].map(
  (patient) => CARE_SCOPES.map((scope) => `${scope}:${patient}`).join(' '),
)

let care: RunningCare
beforeAll(async () => {
  care = await startRunningCare()
  await care.write({ patient: 'ann', domain: 'tea', value: 'No sugar.', authorId: 'dr-osei' })
})
afterAll(() => care.remove())

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 't', version: '1' },
  },
}
const list = { jsonrpc: '2.0', id: 1, method: 'resources/list', params: {} }

/** Every door that takes a token, asked for Ann. */
const DOORS: readonly (readonly [path: string, body: object | undefined])[] = [
  ['/verify', undefined],
  ['/verify?uri=care-internal://ann/tea', undefined],
  ['/verify/export', undefined],
  ['/verify/export?uri=care://ann/tea', undefined],
  ['/verify/proof?uri=care://ann/tea', undefined],
  ['/verify/checkpoint?journal=assistant', undefined],
  ['/principal', undefined],
  ['/unheard', undefined],
  ['/write', { patient: 'ann', domain: 'tea', value: 'Two lumps.' }],
  ['/mcp', initialize],
  ['/mcp/2026-07-28', list],
]

async function ask(scope: string, [path, body]: (typeof DOORS)[number]) {
  const audience = path.startsWith('/mcp/2026') ? `${RESOURCE}/2026-07-28` : RESOURCE
  const answer = await fetch(`${care.url}${path}`, {
    headers: {
      authorization: `Bearer ${care.token(scope, { audience })}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
  return { status: answer.status, text: await answer.text() }
}

describe('C24: a scope whose name cannot be read', () => {
  it.each(UNREADABLE)('gives nothing, and is no fault: %j', (scopes) => {
    const pending = scopes.split(' ')
    expect(pending.filter(isCareScope)).toEqual([])
    expect([readReach(pending), isWriter(pending), mayWrite(pending, 'ann')]).toEqual([
      [],
      false,
      false,
    ])
    expect(mayRead(pending, { audience: 'user', patient: 'ann' })).toBe(false)
  })

  it.each(DOORS)(
    'is an answer on %s, never a fault, and shows nothing of a record',
    async (path, body) => {
      for (const scope of UNREADABLE) {
        const { status, text } = await ask(scope, [path, body])
        expect(status, text).toBeLessThan(500)
        expect(text).not.toMatch(/sugar|lumps|versionHash/)
      }
    },
  )
})
