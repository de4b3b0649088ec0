/**
 * One MCP session: who it belongs to, what it listens to, the frames that it may ask for again, and the SDK's transport
 * port, through which the session's `Server` gets requests and gives answers. Streams, sweeping and storing live elsewhere.
 */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type {
  JSONRPCMessage,
  MessageExtraInfo,
  RequestId,
} from '@modelcontextprotocol/sdk/types.js'
import type { LogLevel, StoredSession } from '../domain/session-store.ts'
import type { EventStream } from './event-stream.ts'
import { FrameRing } from './frame-ring.ts'

/** What became of a request. */
export type AskOutcome =
  | { readonly kind: 'answered'; readonly message: JSONRPCMessage }
  /** The client took the request back, or the session ended meanwhile: there is no answer. */
  | { readonly kind: 'cancelled' }
  /** A request with that id is still being worked on in this session. */
  | { readonly kind: 'id-in-use' }
  /** JSON-RPC, but nothing that MCP knows as a request (such as a `_meta` that is no object). */
  | { readonly kind: 'not-understood' }

const isAnswer = (message: JSONRPCMessage): message is JSONRPCMessage & { id: RequestId } =>
  'id' in message && !('method' in message)

/** A class, since tens of thousands of sessions live at once: methods are shared, and what is not used is not made. */
export class McpSession implements Transport {
  readonly number: number
  readonly sub: string
  readonly sessionId: string
  readonly createdAtMs: number
  /** Of the token that was presented last. */
  scopes: readonly string[]
  /** Unset until the client sets it: everything is sent then. */
  logLevel: LogLevel | undefined
  lastSeenMs: number
  /** Sequence of the newest frame that any stream of the session has carried. */
  carriedSequence: number
  /** The one open stream. */
  stream: EventStream | undefined
  /** Chain URIs, and numbered ones, which never fire; absent while empty. */
  subscriptions: Set<string> | undefined
  readonly ring: FrameRing
  isEnded = false
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void
  onclose?: () => void
  onerror?: (error: Error) => void
  #refusals = 0
  #waiting: Map<RequestId, (outcome: AskOutcome) => void> | undefined

  constructor(stored: StoredSession, lastSeenMs: number) {
    this.number = stored.number
    this.sub = stored.sub
    this.sessionId = stored.id
    this.createdAtMs = stored.createdAtMs
    this.scopes = stored.scopes
    this.logLevel = stored.logLevel
    this.lastSeenMs = lastSeenMs
    this.carriedSequence = stored.carriedSequence
    this.ring = new FrameRing(stored.lastSequence)
  }

  /** What clients send in `mcp-session-id`; event ids begin with a part of it. */
  get id(): string {
    return this.sessionId
  }

  /** Requests that are being worked on. */
  get waitingCount(): number {
    return this.#waiting?.size ?? 0
  }

  /** The session as it is kept. */
  toStored(): StoredSession {
    const { number, id, sub, scopes, logLevel, createdAtMs, carriedSequence } = this
    const { lastSequence } = this.ring
    return { number, id, sub, scopes, logLevel, createdAtMs, carriedSequence, lastSequence }
  }

  /** Hands a request to the session's server and resolves with its answer. */
  ask(id: RequestId, message: JSONRPCMessage): Promise<AskOutcome> {
    this.#waiting ??= new Map()
    const waiting = this.#waiting
    if (waiting.has(id)) return Promise.resolve({ kind: 'id-in-use' })
    return new Promise((resolve) => {
      waiting.set(id, resolve)
      const refusalsBefore = this.#refusals
      this.onmessage?.(message)
      // The server never answers what its schemas refuse: without this the request would wait for ever.
      if (this.#refusals > refusalsBefore) this.#settle(id, { kind: 'not-understood' })
    })
  }

  /** Called for what the server could not make sense of, while it is handed over. */
  noteRefusal(): void {
    this.#refusals += 1
  }

  /** Hands a notification to the session's server. A cancelled request is never answered by it: its caller is let go. */
  tell(message: JSONRPCMessage): void {
    this.onmessage?.(message)
    if (!('method' in message) || message.method !== 'notifications/cancelled') return
    const id = message.params?.['requestId']
    if (typeof id === 'string' || typeof id === 'number') this.#settle(id, { kind: 'cancelled' })
  }

  async start(): Promise<void> {}

  /** Called by the server. Only answers come: this server asks its clients nothing, and frames do not pass through it. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (isAnswer(message)) this.#settle(message.id, { kind: 'answered', message })
  }

  async close(): Promise<void> {
    for (const id of this.#waiting?.keys() ?? []) this.#settle(id, { kind: 'cancelled' })
    this.onclose?.()
  }

  /** Lets go of the session's server, most of its memory, where nothing is under way; the next request makes another. */
  rest(): void {
    if (this.waitingCount > 0 || this.onmessage === undefined) return
    this.onclose?.()
    delete this.onmessage
    delete this.onclose
    delete this.onerror
  }

  #settle(id: RequestId, outcome: AskOutcome): void {
    const resolve = this.#waiting?.get(id)
    this.#waiting?.delete(id)
    resolve?.(outcome)
  }
}
