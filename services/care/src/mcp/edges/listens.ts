/**
 * `subscriptions/listen` (MCP 2026-07-28): one open answer per listen, which names the listen in every frame. A listen holds
 * only its grant; there is no replay, so a client that was cut off reads again. A grant never covers what the principal may
 * not read, and everything is checked again before it is sent (C21).
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '@tallystick/service-kit'
import { parseParams, RPC_CODES, RpcFailure, type RpcId } from '@tallystick/service-kit/mcp'
import { mayRead } from '../../domain/scopes.ts'
import type { ListenRows } from '../../domain/session-store.ts'
import { listenParams } from '../../wire/mcp.ts'
import { subscribable } from '../methods/resource-methods.ts'
import type { CallContext } from '../records/visible-records.ts'
import type { Happening } from '../sessions/frames.ts'
import type { JournalFollower } from '../sessions/journal-follower.ts'
import {
  createOpenStreams,
  OpenStream,
  type OpenStreamOptions,
  type StreamEnd,
} from '../sessions/open-stream.ts'
import { SubscriptionIndex } from '../sessions/subscription-index.ts'

const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId'

/** The granted part of a listen's request. */
type GrantedListen = {
  readonly wantsList: boolean
  /** URIs as the client spelled them, by the canonical one. */
  readonly uris: ReadonlyMap<string, readonly string[]>
}

/**
 * Grants a listen what its principal may read and silently drops the rest: hidden records look like absent ones. Refuses with
 * -32602 a listen that asks for too much at once.
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
    if (found !== undefined) uris.set(found, [...(uris.get(found) ?? []), spelled])
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

type ListenOptions = Pick<OpenStreamOptions, 'claims' | 'response'> & {
  /** Its row. */
  readonly row: string
  /** Of the request; names the listen in its frames. */
  readonly id: RpcId
  readonly granted: GrantedListen
}

type ListenParts = OpenStreamOptions &
  ListenOptions & {
    /** The last words of a listen that ends in order. */
    readonly lastResult: (meta: object) => object
    /** The place of the next version, now: a listen is told from there on. */
    readonly place: () => number
    onEnd(listen: Listen, reason: StreamEnd): void
  }

class Listen extends OpenStream<ListenParts> {
  /** The backlog of a reader that accepts nothing. */
  #waiting = { frames: 0, bytes: 0 }
  /** Updates not yet sent to a stalled reader. */
  #unsaid: (readonly [uri: string, version: number])[] = []
  readonly since = this.options.place()
  subscriptions: Map<string, number> | undefined

  protected get keepAliveText(): string {
    return ': keepalive\n\n'
  }

  /** The first frame. A listen without any grant ends with it. */
  open(): void {
    const { granted } = this.options
    this.#notify('notifications/subscriptions/acknowledged', acknowledged(granted))
    if (!granted.wantsList && granted.uris.size === 0) this.end('nothing-granted')
  }

  /** Announces the granted part of what happened, if the token is still good and may read the record. */
  tell({ changesList, place, slot, uri: about, version }: Happening): void {
    const { claims, granted } = this.options
    if (place < this.since || this.isOver() || !mayRead(claims.scopes, slot)) return
    const spellings = granted.uris.get(about) ?? []
    for (const uri of spellings) this.#notify('notifications/resources/updated', { uri })
    if (spellings.length > 0 && this.isStalled) this.#unsaid.push([about, version])
    else if (spellings.length > 0) this.options.onUpdate(about, version)
    const hearsList = granted.wantsList && changesList
    if (hearsList) this.#notify('notifications/resources/list_changed', {})
    if (slot.audience === 'user') this.framesSent += spellings.length + (hearsList ? 1 : 0)
  }

  protected lastWords(): string {
    const { id, lastResult } = this.options
    return formatEvent({ jsonrpc: '2.0', id, result: lastResult({ [SUBSCRIPTION_ID]: id }) })
  }

  protected onStall(): void {
    this.#waiting = { frames: 0, bytes: 0 }
  }

  protected onDrain(): void {
    for (const said of this.#unsaid.splice(0)) this.options.onUpdate(...said)
  }

  protected backlog() {
    return this.#waiting
  }

  #notify(method: string, params: object): void {
    const _meta = { [SUBSCRIPTION_ID]: this.options.id }
    const text = formatEvent({ jsonrpc: '2.0', method, params: { ...params, _meta } })
    this.write(text)
    if (!this.isStalled) return
    this.#waiting.frames += 1
    this.#waiting.bytes += Buffer.byteLength(text)
    this.cutIfTooSlow()
  }
}

const formatEvent = (message: object): string =>
  `event: message\ndata: ${JSON.stringify(message)}\n\n`

export type Listens = ReturnType<typeof createListens>

export function createListens(
  deps: Pick<ListenParts, 'isRevoked' | 'limits' | 'lastResult' | 'onUpdate' | 'place'> & {
    readonly clock: Clock
    /** Those of all processes. */
    readonly rows: ListenRows
    readonly onEnd: (reason: StreamEnd) => void
    readonly follower: Pick<JournalFollower, 'join' | 'leave' | 'wake'>
  },
) {
  const { limits, rows } = deps
  const tell = (happening: Happening): void => {
    const concerned = happening.changesList ? listens.all() : index.findSubscribers(happening.uri)
    for (const listen of concerned) listen.tell(happening)
  }
  const listens = createOpenStreams<Listen>({
    ...deps,
    tell: async (happenings) => {
      for (const happening of happenings) tell(happening)
    },
  })
  const index = new SubscriptionIndex<Listen>()
  const ofSub = (sub: string): number =>
    [...listens.all()].filter(({ options }) => options.claims.sub === sub).length
  const onEnd = (ended: Listen, reason: StreamEnd): void => {
    listens.delete(ended)
    index.replace(ended, new Map())
    rows.remove(ended.options.row)
    deps.onEnd(reason)
  }

  return {
    ...listens,
    /** Refuses with -32603, before the first frame, a listen beyond the limits; returns its row. */
    async admit(sub: string, { uris }: GrantedListen): Promise<string> {
      const { listensMax: max, listensPerSubMax: perSubMax } = limits
      const row = randomUUID()
      const isRoom = listens.count() < max && ofSub(sub) < perSubMax
      if (isRoom && (await rows.add({ id: row, sub, uris: [...uris.keys()], max, perSubMax })))
        return row
      throw new RpcFailure(RPC_CODES.internalError, 'Too many listens')
    },
    /** One that was admitted is not opened. */
    dismiss: (row: string): void => rows.remove(row),
    open(options: ListenOptions): void {
      const listen = new Listen({ ...deps, ...options, onEnd })
      listens.add(listen)
      for (const uri of options.granted.uris.keys()) index.add(listen, uri, listen.since)
      listen.open()
    },
    /** What they follow. */
    index,
    /** Announces what happened. */
    tell,
  }
}
