// What the tests of /mcp as HTTP share: one world per file, a session that reads both audiences, and what they send and get.
import { afterAll, beforeAll, expect } from 'vitest'
import { BOTH, type ClientSession, type McpWorld, mcpWorld } from './mcp-world.fixture.ts'

export const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })

/** The body of a refusal before any request was understood. */
export const rpcError = (code: number): object => ({
  jsonrpc: '2.0',
  error: { code, message: expect.any(String) },
  id: null,
})

export type RouteStage = {
  readonly world: McpWorld
  readonly session: ClientSession
  /** The header that names a session, the stage's own unless told otherwise. */
  readonly inSession: (id?: string) => { readonly 'mcp-session-id': string }
}

/** Registers the hooks of a file, whose tests share a world. */
export function useRouteStage(): RouteStage {
  let world: McpWorld
  let session: ClientSession
  beforeAll(async () => {
    world = await mcpWorld()
    await world.write({})
    session = await world.open(BOTH)
  })
  afterAll(() => world.close())
  return {
    get world() {
      return world
    },
    get session() {
      return session
    },
    inSession: (id = session.id) => ({ 'mcp-session-id': id }),
  }
}
