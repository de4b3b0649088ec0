/**
 * `subscriptions/listen` (MCP 2026-07-28): one open answer per listen, which names the listen in every frame. A listen holds
 * nothing but what it was granted; there is no replay, so a client that was cut off reads again. What the principal may
 * not read was never granted, and everything is checked again before it is sent (C21).
 */
import type { ServerResponse } from 'node:http'
import type { TokenClaims } from '@tallystick/jwt-lite'
import type { Clock } from '@tallystick/service-kit'
import { parseParams, RPC_CODES, RpcFailure, type RpcId } from '@tallystick/service-kit/mcp'
import { type CareRecord, mayRead } from '../domain/care-record.ts'
import { listenParams } from '../wire/mcp.ts'
import { chainUri } from '../wire/record-uri.ts'
import type { StreamEnd } from './event-streams.ts'
import type { McpLimits } from './limits.ts'
import { subscribable } from './resource-methods.ts'
import { createStreamTicker, type TickedStream } from './stream-ticker.ts'
import type { CallContext } from './visible-records.ts'

const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId'

/** What a listen was granted of what it asked for. */
type GrantedListen = {
  readonly wantsList: boolean
  /** URIs as the client spelled them, by the canonical one. */
  readonly uris: ReadonlyMap<string, readonly string[]>
}

/**
 * Grants of a listen what its principal may read. The rest is left out without a word: what is hidden looks like what is not
 * there. Refuses with -32602 what asks for too much at once.
 */
export async function grantListen(context: CallContext, params: unknown): Promise<GrantedListen> {
  const { resourcesListChanged = false, resourceSubscriptions = [] } = parseParams(
    listenParams,
    params,
  ).notifications
  const { subscriptionsPerSessionMax: most } = context.limits
  if (resourceSubscriptions.length > most)
    throw new RpcFailure(
      RPC_CODES.invalidParams,
      `params.notifications.resourceSubscriptions: at most ${most}`,
    )
  const uris = new Map<string, readonly string[]>()
  for (const spelled of new Set(resourceSubscriptions)) {
    const found = await subscribable(context, spelled)
    if (found !== undefined) uris.set(found.uri, [...(uris.get(found.uri) ?? []), spelled])
  }
  return { wantsList: resourcesListChanged, uris }
}

/** The parameters of the first frame: what was granted, in the words of the request. */
const acknowledged = ({ uris, wantsList }: GrantedListen): object => ({
  notifications: {
    ...(wantsList && { resourcesListChanged: true }),
    ...(uris.size > 0 && { resourceSubscriptions: [...uris.values()].flat() }),
  },
})

type ListenOptions = {
  /** Of the request; names the listen in its frames. */
  readonly id: RpcId
  readonly claims: TokenClaims
  readonly granted: GrantedListen
  readonly response: ServerResponse
}

type ListenParts = ListenOptions & {
  readonly number: number
  readonly clock: Pick<Clock, 'unixMs'>
  readonly limits: McpLimits
  readonly isRevoked: (jti: string) => boolean
  /** The last words of a listen that ends in order. */
  readonly lastResult: (meta: object) => object
  readonly onEnd: (listen: Listen, reason: StreamEnd) => void
  /** The reader was told that a record changed to which it listens. */
  readonly onUpdate: (uri: string) => void
}

class Listen implements TickedStream {
  readonly number: number
  readonly claims: TokenClaims
  readonly granted: GrantedListen
  readonly #parts: ListenParts
  /** Since when the reader accepts nothing, and what was written since. */
  #stalled: { readonly sinceMs: number; frames: number; bytes: number } | undefined
  /** Updates that a stalled reader has not been given yet. */
  #unsaid: string[] = []
  #hasEnded = false
  /** Frames about speakable records written so far. */
  framesSent = 0

  constructor(parts: ListenParts) {
    this.number = parts.number
    this.claims = parts.claims
    this.granted = parts.granted
    this.#parts = parts
    // An error is followed by `close`; without a listener it would end the process.
    parts.response.on('error', () => undefined)
    parts.response.on('close', () => this.#finish('gone'))
    parts.response.on('drain', () => {
      this.#stalled = undefined
      for (const uri of this.#unsaid.splice(0)) parts.onUpdate(uri)
    })
  }

  get expiresAtMs(): number {
    return this.claims.expiresAtSeconds * 1_000
  }

  isRevoked(): boolean {
    const { jti } = this.claims
    return jti !== undefined && this.#parts.isRevoked(jti)
  }

  /** The first frame. A listen that was granted nothing ends with it. */
  open(): void {
    const { granted } = this
    this.#notify('notifications/subscriptions/acknowledged', acknowledged(granted))
    if (!granted.wantsList && granted.uris.size === 0) this.end('nothing-granted')
  }

  /**
   * Tells of an accepted write what was granted, if the token is still good and may read the record. Returns whether it
   * listens to that record.
   */
  tell(record: CareRecord): boolean {
    const over = this.#over()
    if (over !== undefined) this.end(over)
    if (this.#hasEnded || !mayRead(this.claims.scopes, record)) return false
    const about = chainUri(record)
    const spellings = this.granted.uris.get(about) ?? []
    for (const uri of spellings) this.#notify('notifications/resources/updated', { uri })
    if (spellings.length > 0 && this.#stalled === undefined) this.#parts.onUpdate(about)
    else if (spellings.length > 0) this.#unsaid.push(about)
    const isNew = this.granted.wantsList && record.version === 1
    if (isNew) this.#notify('notifications/resources/list_changed', {})
    if (record.audience === 'user') this.framesSent += spellings.length + (isNew ? 1 : 0)
    return spellings.length > 0
  }

  /** A comment, so that neither side takes silence for a dead connection. */
  keepAlive(): void {
    if (this.#hasEnded) return
    if (this.#stalled === undefined) this.#write(': keepalive\n\n')
    else this.#cutIfTooSlow()
  }

  /** Ends the listen with its result, unless nobody reads it. */
  end(reason: StreamEnd): void {
    if (this.#hasEnded) return
    this.#finish(reason)
    const { id, lastResult, response } = this.#parts
    if (this.#stalled !== undefined) return void response.destroy()
    const result = lastResult({ [SUBSCRIPTION_ID]: id })
    response.end(eventOf({ jsonrpc: '2.0', id, result }))
  }

  #over(): StreamEnd | undefined {
    if (this.expiresAtMs <= this.#parts.clock.unixMs()) return 'token-expired'
    return this.isRevoked() ? 'token-revoked' : undefined
  }

  #notify(method: string, params: object): void {
    const _meta = { [SUBSCRIPTION_ID]: this.#parts.id }
    this.#write(eventOf({ jsonrpc: '2.0', method, params: { ...params, _meta } }))
  }

  /** What is written to a reader that accepts nothing waits in its socket's queue, whose bound is that of any stream. */
  #write(text: string): void {
    if (this.#hasEnded) return
    const isTaken = this.#parts.response.write(text)
    if (isTaken) return
    this.#stalled ??= { sinceMs: this.#parts.clock.unixMs(), frames: 0, bytes: 0 }
    this.#stalled.frames += 1
    this.#stalled.bytes += Buffer.byteLength(text)
    this.#cutIfTooSlow()
  }

  #cutIfTooSlow(): void {
    if (this.#stalled === undefined) return
    const { clock, limits } = this.#parts
    const { bytes, frames, sinceMs } = this.#stalled
    const isTooSlow =
      frames > limits.lagFramesMax ||
      bytes > limits.lagBytesMax ||
      clock.unixMs() - sinceMs > limits.stallMs
    if (isTooSlow) this.end('slow')
  }

  #finish(reason: StreamEnd): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#parts.onEnd(this, reason)
  }
}

const eventOf = (message: object): string => `event: message\ndata: ${JSON.stringify(message)}\n\n`

export type Listens = ReturnType<typeof createListens>

/** The open listens of all principals. */
export function createListens(
  deps: Pick<ListenParts, 'limits' | 'isRevoked' | 'lastResult' | 'onUpdate'> & {
    readonly clock: Clock
    readonly onEnd: (reason: StreamEnd) => void
  },
) {
  const { limits } = deps
  const ticker = createStreamTicker<Listen>({
    clock: deps.clock,
    keepAliveMs: limits.keepAliveMs,
  })
  const listens = ticker.streams
  const byUri = new Map<string, Set<Listen>>()
  let lastNumber = 0
  let framesSentByEnded = 0
  const onEnd = (listen: Listen, reason: StreamEnd): void => {
    ticker.delete(listen)
    framesSentByEnded += listen.framesSent
    for (const uri of listen.granted.uris.keys()) {
      const listening = byUri.get(uri)
      listening?.delete(listen)
      if (listening?.size === 0) byUri.delete(uri)
    }
    deps.onEnd(reason)
  }
  const ofSub = (sub: string): number =>
    [...listens].filter((listen) => listen.claims.sub === sub).length

  return {
    /** Refuses with -32603, before the first frame, a listen beyond the limits. */
    admit(sub: string): void {
      if (listens.size < limits.listensMax && ofSub(sub) < limits.listensPerSubMax) return
      throw new RpcFailure(RPC_CODES.internalError, 'Too many listens')
    },
    open(options: ListenOptions): void {
      lastNumber += 1
      const listen = new Listen({ ...deps, ...options, number: lastNumber, onEnd })
      ticker.add(listen)
      for (const uri of options.granted.uris.keys())
        byUri.set(uri, (byUri.get(uri) ?? new Set()).add(listen))
      listen.open()
    },
    /** Tells of an accepted write; returns how many that listen to its record were told. */
    publish(record: CareRecord): number {
      const concerned = record.version === 1 ? listens : (byUri.get(chainUri(record)) ?? [])
      let told = 0
      for (const listen of concerned) if (listen.tell(record)) told += 1
      return told
    },
    endAll(reason: StreamEnd): void {
      for (const listen of listens) listen.end(reason)
    },
    count: () => listens.size,
    subscriptions: () => [...byUri.values()].reduce((sum, { size }) => sum + size, 0),
    framesSent: () =>
      [...listens].reduce((sum, listen) => sum + listen.framesSent, framesSentByEnded),
  }
}
