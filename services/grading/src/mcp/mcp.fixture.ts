/** Calls of `/mcp` without a socket, in either revision. */
import type { ToolResult } from '@tallystick/x402/mcp'
import type { HttpFixture } from '../testing/http.fixture.ts'

/** What a request of 2026-07-28 says of itself. */
export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

export const modernHeaders = (method: string, name?: string): Record<string, string> => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  ...(name !== undefined && { 'mcp-name': name }),
})

type Payment = Readonly<Record<string, string>>

/** The payment of a header as MCP carries it, without the resource, which the payer may leave out. */
export function paymentObject(header: Payment): Record<string, unknown> {
  const text = Buffer.from(header['payment-signature'] ?? '', 'base64').toString()
  const { resource: _resource, ...envelope } = JSON.parse(text) as Record<string, unknown>
  return envelope
}

export const asHeader = (payment: object): Record<string, string> => ({
  'payment-signature': Buffer.from(JSON.stringify(payment)).toString('base64'),
})

/** A tool's result as it arrives. */
type ToolAnswer = ToolResult & {
  readonly structuredContent?: Readonly<Record<string, unknown>>
}

type RpcAnswer = {
  readonly id: string | number | null
  readonly result?: ToolAnswer & Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: object }
}

/** Wraps the fixture of a test file, which exists once its tests run. */
export function mcpCalls(fixture: () => HttpFixture) {
  const post = async (payload: unknown, headers: Record<string, string> = {}) => {
    const answer = await fixture().app.inject({
      method: 'POST',
      url: '/mcp',
      headers: { 'content-type': 'application/json', ...headers },
      payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
    })
    return {
      status: answer.statusCode,
      headers: answer.headers,
      answer: (answer.body === '' ? undefined : answer.json()) as RpcAnswer,
    }
  }
  const rpc = async (method: string, params?: object, headers?: Record<string, string>) =>
    await post({ jsonrpc: '2.0', id: 1, method, ...(params && { params }) }, headers)
  /** Calls a tool; `payment` goes into `_meta` as it is. */
  const call = async (name: string, input?: unknown, payment?: unknown): Promise<ToolAnswer> => {
    const _meta = payment === undefined ? undefined : { 'x402/payment': payment }
    const { answer } = await rpc('tools/call', {
      name,
      ...(input !== undefined && { arguments: input }),
      ...(_meta && { _meta }),
    })
    if (answer.result === undefined) throw new Error(JSON.stringify(answer.error))
    return answer.result
  }
  return { post, rpc, call }
}
