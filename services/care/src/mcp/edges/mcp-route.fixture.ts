// Shared by the tests of /mcp as HTTP: one fixture per file, a session that reads both audiences, and what they send and
// receive.
import { afterAll, beforeAll, expect } from 'vitest'
import { BOTH, type ClientSession, type McpFixture, startMcp } from '../mcp.fixture.ts'

export const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })

/** The body of a refusal before any request was understood. */
export const rpcError = (code: number): object => ({
  jsonrpc: '2.0',
  error: { code, message: expect.any(String) },
  id: null,
})

type RouteFixture = {
  readonly fixture: McpFixture
  readonly session: ClientSession
  /** The header that names a session, by default the suite's own. */
  readonly inSession: (id?: string) => { readonly 'mcp-session-id': string }
}

/** Registers the hooks of a file, whose tests share a fixture. */
export function useMcpRoute(): RouteFixture {
  let fixture: McpFixture
  let session: ClientSession
  beforeAll(async () => {
    fixture = await startMcp()
    await fixture.write({})
    session = await fixture.open(BOTH)
  })
  afterAll(() => fixture.close())
  return {
    get fixture() {
      return fixture
    },
    get session() {
      return session
    },
    inSession: (id = session.id) => ({ 'mcp-session-id': id }),
  }
}
