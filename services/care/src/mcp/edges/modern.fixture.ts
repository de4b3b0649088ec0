// Calls of `/mcp/2026-07-28` on the fixture of a test file, over real HTTP; for tests of that revision.

import { type McpFixture, MODERN_AUDIENCE } from '../mcp.fixture.ts'
import { EventReader } from '../sessions/event-reader.fixture.ts'

/** What a request says about itself. */
export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

export const modernHeaders = (
  method: string,
  params: { readonly name?: unknown; readonly uri?: unknown } = {},
): Record<string, string> => {
  const named = {
    'resources/read': params.uri,
    'tools/call': params.name,
    'prompts/get': params.name,
  }
  const name = named[method as keyof typeof named]
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof name === 'string' && {
      'mcp-name': `=?base64?${Buffer.from(name).toString('base64')}?=`,
    }),
  }
}

export const modernBody = (method: string, params: object = {}, id: string | number = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: ENVELOPE } })

type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly body: {
    readonly id?: unknown
    readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
    readonly result?: Record<string, unknown>
  }
}

const authorized = (token: string) => ({ authorization: `Bearer ${token}` })

/** Wraps the fixture of a test file, which exists once its tests run. */
export function modernCalls(fixture: () => McpFixture) {
  const issueToken = (scope: string, sub = 'host') =>
    fixture().token(scope, { sub, audience: MODERN_AUDIENCE })
  /** Sends a body unchanged under a token. */
  const post = async (
    token: string | undefined,
    body: string,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const answer = await fetch(`${fixture().url}/2026-07-28`, {
      method: 'POST',
      headers: { ...(token !== undefined && authorized(token)), ...headers },
      body,
    })
    const text = await answer.text()
    const { status, headers: answered } = answer
    const isJson = answered.get('content-type')?.startsWith('application/json') === true
    return { status, headers: answered, body: isJson ? JSON.parse(text) : {} }
  }
  return {
    issueToken,
    post,
    /** Calls a method with the scopes of a token. */
    call: async (scope: string, method: string, params: object = {}): Promise<Answer> =>
      await post(issueToken(scope), modernBody(method, params), modernHeaders(method, params)),
    /** Opens a listen; it is acknowledged when this resolves. */
    listen: async (
      token: string,
      notifications: object,
      id: string | number = 'L1',
    ): Promise<EventReader> => {
      const reader = await EventReader.request({
        port: new URL(fixture().url).port,
        method: 'POST',
        path: '/mcp/2026-07-28',
        headers: { ...modernHeaders('subscriptions/listen'), ...authorized(token) },
        body: modernBody('subscriptions/listen', { notifications }, id),
      })
      while (reader.events.length === 0)
        await new Promise<void>((resolve) => void setImmediate(resolve))
      return reader
    },
  }
}
