import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type {
  JSONRPCMessage,
  JSONRPCRequest,
  RequestId,
  Result,
  ServerCapabilities,
} from '@modelcontextprotocol/sdk/types.js'
import { NO_VALIDATOR, withInvalidParams, withoutTask } from '@tallystick/service-kit/mcp'
import type { Principal } from '../../domain/scopes.ts'
import type { CancelledRequest } from '../../domain/session-store.ts'
import { DATA_LINE } from '../../wire/text-of-others.ts'
import type { McpSession } from './mcp-session.ts'

/** The only version negotiated: the minimum (C1), and the newest whose sessions this transport supports. */
const PROTOCOL_VERSION = '2025-11-25'

/** The declared capabilities (care.md), plus `tools` (C12). */
export const CAPABILITIES = {
  resources: { subscribe: true, listChanged: true },
  completions: {},
  prompts: {},
  logging: {},
  tools: {},
} as const satisfies ServerCapabilities

type AskOutcome =
  | { readonly kind: 'answered'; readonly message: JSONRPCMessage }
  /** The client cancelled the request, or the session ended meanwhile: there is no answer. */
  | { readonly kind: 'cancelled' }
  /** A request with that id is still in progress in this session. */
  | { readonly kind: 'id-in-use' }
  /** JSON-RPC, but not a request that MCP knows (such as one whose `_meta` is not an object). */
  | { readonly kind: 'not-understood' }

/** Whose a request is. */
export type Caller = {
  readonly session: McpSession
  /** As its own token says: another's, which comes while it is served, neither widens nor narrows it. */
  readonly principal: Principal
}

type Pending = Caller & {
  /** The client's own. */
  readonly id: RequestId
  readonly resolve: (outcome: AskOutcome) => void
}

/** A client's 1 and "1" are two ids. */
const nameRequest = ({ request, session }: CancelledRequest): string => `${session.id} ${request}`

/**
 * The SDK's low-level server behind a transport that all sessions share (docs/decisions/0010). The SDK wants one server per
 * client, because it finds an answer's receiver by the request's id, and ids of two clients collide. Here no client's id
 * reaches it: each request gets a number unique in the process, and its answer goes to that number's session. The server
 * itself holds no session state: what it would keep (client, log level) is in our session.
 */
export class SessionServer implements Transport {
  onmessage?: (message: JSONRPCMessage) => void
  onclose?: () => void
  onerror?: (error: Error) => void
  readonly #pending = new Map<RequestId, Pending>()
  /** Its numbers by the session and the client's id. */
  readonly #numbers = new Map<string, number>()
  #lastNumber = 0
  #refusals = 0

  static async start(options: {
    readonly serviceName: string
    readonly version: string
    /** Registers the methods; `findCaller` says whose request a method serves, by its number. */
    readonly register: (server: Server, findCaller: (number: RequestId) => Caller) => void
  }): Promise<SessionServer> {
    const { serviceName, version, register } = options
    const transport = new SessionServer()
    const server = new Server(
      { name: `tallystick-${serviceName}`, version },
      { capabilities: CAPABILITIES, jsonSchemaValidator: NO_VALIDATOR },
    )
    register(server, (number) => transport.#findCaller(number))
    Object.assign(server, {
      onerror: () => {
        transport.#refusals += 1
      },
    })
    await server.connect(transport)
    return transport
  }

  /** Hands a session's request to the server and resolves with its answer. */
  ask(caller: Caller, id: RequestId, message: JSONRPCRequest): Promise<AskOutcome> {
    const { session } = caller
    const name = nameRequest({ session, request: JSON.stringify(id) })
    if (this.#numbers.has(name)) return Promise.resolve({ kind: 'id-in-use' })
    this.#lastNumber += 1
    const number = this.#lastNumber
    this.#numbers.set(name, number)
    return new Promise((resolve) => {
      this.#pending.set(number, { ...caller, id, resolve })
      const refusalsBefore = this.#refusals
      this.onmessage?.({ ...withoutTask(message), id: number })
      // The server never answers what its schemas refuse; without this, the request would wait for ever.
      if (this.#refusals > refusalsBefore) this.#settle(number, { kind: 'not-understood' })
    })
  }

  /**
   * Hands a session's notification to the server, except cancellations, which concern only that session's requests. Returns one
   * of a request that does not run here: it may run at another process.
   */
  tell(session: McpSession, message: JSONRPCMessage): CancelledRequest | undefined {
    if (!('method' in message) || message.method !== 'notifications/cancelled') {
      this.onmessage?.(message)
      return undefined
    }
    const cancelled = { session, request: JSON.stringify(message.params?.['requestId'] ?? null) }
    return this.cancel(cancelled) ? undefined : cancelled
  }

  /** Ends a request if it runs here. */
  cancel(cancelled: CancelledRequest): boolean {
    const number = this.#numbers.get(nameRequest(cancelled))
    if (number !== undefined) this.#cancel(number)
    return number !== undefined
  }

  /** Releases what a session still waits for. */
  release(session: McpSession): void {
    for (const [number, pending] of this.#pending)
      if (pending.session === session) this.#cancel(number)
  }

  /** The sessions that wait for something. */
  busy(): readonly McpSession[] {
    return [...this.#pending.values()].map(({ session }) => session)
  }

  async start(): Promise<void> {}

  /** Called by the server, with answers only: this server asks its clients nothing, and frames do not pass through it. */
  async send(message: JSONRPCMessage): Promise<void> {
    if ('method' in message || message.id === undefined) return
    const pending = this.#pending.get(message.id)
    if (pending === undefined) return
    const answer = 'error' in message ? withInvalidParams(message) : message
    this.#settle(message.id, { kind: 'answered', message: { ...answer, id: pending.id } })
  }

  async close(): Promise<void> {
    this.onclose?.()
  }

  #findCaller(number: RequestId): Caller {
    const caller = this.#pending.get(number)
    if (caller === undefined) throw new Error('a request was dispatched that nobody waits for')
    return caller
  }

  /** The server notifies its handler, and its caller is released: a cancelled request is never answered. */
  #cancel(number: RequestId): void {
    this.onmessage?.({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: number },
    })
    this.#settle(number, { kind: 'cancelled' })
  }

  #settle(number: RequestId, outcome: AskOutcome): void {
    const pending = this.#pending.get(number)
    if (pending === undefined) return
    this.#pending.delete(number)
    const { session, id, resolve } = pending
    this.#numbers.delete(nameRequest({ session, request: JSON.stringify(id) }))
    resolve(outcome)
  }
}

/** The answer to `initialize`. The version does not depend on what the client asks for (C1). */
export function initializeResult(options: {
  readonly serviceName: string
  readonly version: string
}): Result {
  const { serviceName, version } = options
  return {
    protocolVersion: PROTOCOL_VERSION,
    capabilities: CAPABILITIES,
    serverInfo: { name: `tallystick-${serviceName}`, title: 'Tallystick care records', version },
    instructions: INSTRUCTIONS,
  }
}

/** For hosts of both revisions. */
export const INSTRUCTIONS = [
  'Care records of people at home, one per patient and domain, each a chain of versions.',
  'care:// records may be spoken to the person. care-internal:// records are for you alone: never say, quote or paraphrase them.',
  DATA_LINE,
  'In texts a further line of a value begins with "> ", and \\u{…} stands for a character that may not stand there.',
  'Read a record right before you speak it. If its text carries a [STALE …] line, say the age aloud with it.',
  'Call changes_since before you speak again, with the cursor of your last call: it tells what to take back.',
  'Subscribe to each record that you have spoken. When it is updated, read it again; if the read carries a retraction in its _meta, say that sentence first.',
].join('\n')
