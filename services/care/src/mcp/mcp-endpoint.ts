/** The MCP side of the service, assembled: sessions, streams, methods and the route. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { IsRevoked } from '@tallystick/jwt-lite'
import type { ServiceApp } from '@tallystick/service-kit'
import type { SessionHub } from '../domain/publish-record.ts'
import { type RecordStore, RecordStoreUnavailable, type TopicName } from '../domain/record-store.ts'
import { READ_SCOPES } from '../domain/scopes.ts'
import type { SessionStore, StoredUnheard } from '../domain/session-store.ts'
import type { Speech, SpeechUnavailable } from '../domain/speech.ts'
import {
  createUnheardCorrections,
  type SilentFollower,
  type UnheardCorrections,
} from '../domain/unheard-corrections.ts'
import type { TokenCheck } from '../routes/bearer.ts'
import { METADATA_PATH, MODERN_METADATA_PATH } from '../routes/service-routes.ts'
import { type ChainSlot, chainUri, type NamedChain, parseRecordUri } from '../wire/record-uri.ts'
import { AUDIENCES, type Audience } from '../wire/records.ts'
import type { UnheardCorrection } from '../wire/unheard.ts'
import { createHostGuard, createOriginGuard } from './admission.ts'
import { registerMethods } from './dispatch.ts'
import { createStreamKeeper, type StreamKeeper } from './event-streams.ts'
import { DEFAULT_MCP_LIMITS, type McpLimits } from './limits.ts'
import type { Listens } from './listens.ts'
import { addMcpRoute } from './mcp-route.ts'
import type { ModernExtensions } from './modern-route.ts'
import { openModern } from './modern-route.ts'
import type { StreamEnd } from './open-stream.ts'
import { createRecordAudio } from './record-audio.ts'
import { createReplayBuffer, type ReplayBuffer } from './replay-buffer.ts'
import { createSessionHub, type SubscribersHub } from './session-hub.ts'
import { type SessionEnd, SessionRegistry } from './session-registry.ts'
import { SessionServer } from './session-server.ts'
import type { McpServices } from './visible-records.ts'

/** What the endpoint reports, for logs and metrics. Nothing in it names a record, patient, principal or session. */
export type McpEvent =
  | { readonly kind: 'session-ended'; readonly reason: SessionEnd }
  | { readonly kind: 'stream-ended'; readonly reason: StreamEnd }
  /** How long after it was durable a record's frames were written to every open stream entitled to them. */
  | { readonly kind: 'fanned-out'; readonly audience: Audience; readonly seconds: number }
  /** Someone must look: a dependency failed, or there is a bug; the caller got -32603. */
  | { readonly kind: 'request-failed'; readonly error: unknown }
  /** The session store lags behind. Sessions continue in memory, but a restart would lose what is not stored. */
  | { readonly kind: 'session-store-failed'; readonly error: RecordStoreUnavailable }
  | { readonly kind: 'speech-failed'; readonly error: SpeechUnavailable }
  /** Names a record, so logs and metrics only count it. */
  | { readonly kind: 'unheard'; readonly correction: UnheardCorrection }

export type McpEndpointDeps = Pick<McpServices, 'store' | 'clock' | 'serviceName' | 'version'> &
  Partial<Pick<McpServices, 'noteRead' | 'verifyUrl'>> & {
    /** Whether the token with that `jti` was revoked: its stream ends. */
    readonly isRevoked?: IsRevoked | undefined
    /** Origins of pages that may call, besides the service's own; absent, any may. */
    readonly allowedOrigins?: readonly string[] | undefined
    /** Opened by the caller, who also closes it after `close`. */
    readonly sessions: SessionStore
    /** For audience `BASE_URL` + `/mcp`. */
    readonly tokens: TokenCheck
    /** For audience `BASE_URL` + `/mcp/2026-07-28`. */
    readonly modernTokens: TokenCheck
    /** Services of the revision without sessions, besides records. */
    readonly extensions?: ModernExtensions | undefined
    /** Cryptographically strong bytes, for session ids. */
    readonly random: (size: number) => Uint8Array
    /** From 0 to below 1: spreads the return of clients. */
    readonly chance: () => number
    /** Without it, audio is neither listed nor read. */
    readonly speech?: Speech | undefined
    /** Without a trailing slash. */
    readonly baseUrl: string
    /** Host names under which `/mcp` is reached, besides the base URL's and loopback. */
    readonly allowedHosts?: readonly string[] | undefined
    readonly limits?: Partial<McpLimits> | undefined
    readonly observe?: ((event: McpEvent) => void) | undefined
  }

export type McpEndpoint = Awaited<ReturnType<typeof createMcpEndpoint>>

/**
 * Takes over an earlier process's sessions, and tells their subscribers what that process could not. Rejects with
 * `RecordStoreUnavailable`.
 */
export async function createMcpEndpoint(deps: McpEndpointDeps) {
  const { store, clock, serviceName, version, sessions: kept, speech, noteRead, verifyUrl } = deps
  const { isRevoked = () => false, observe = () => undefined } = deps
  const limits = { ...DEFAULT_MCP_LIMITS, ...deps.limits }
  const flush = (): Promise<void> =>
    kept.flush().catch((error: unknown) => {
      if (!(error instanceof RecordStoreUnavailable)) throw error
      observe({ kind: 'session-store-failed', error })
    })
  const replay = createReplayBuffer(kept, limits.replayFramesMax)
  const registry = new SessionRegistry({
    clock,
    limits,
    store: kept,
    replay,
    randomBytes: deps.random,
    onEnd: (session, reason) => {
      server.release(session)
      observe({ kind: 'session-ended', reason })
    },
  })
  const unheard = createUnheardCorrections({
    clock,
    store: kept,
    waitMs: limits.unheardMs,
    onAlert: (one) => observe({ kind: 'unheard', correction: shownUnheard(one) }),
  })
  const streams = createStreamKeeper({
    clock,
    limits,
    isRevoked,
    chance: deps.chance,
    onUpdate: unheard.heard,
    onEnd: (session, reason) => {
      registry.fallSilent(session)
      observe({ kind: 'stream-ended', reason })
    },
  })
  const onSpeechFailure = (error: SpeechUnavailable) => observe({ kind: 'speech-failed', error })
  const audio = speech && createRecordAudio({ speech, onFailure: onSpeechFailure })
  const records = { store, clock, audio, limits, unheard, noteRead, verifyUrl }
  const services: McpServices = { ...records, serviceName, version }
  const onFailure = (error: unknown): void => observe({ kind: 'request-failed', error })
  const register = registerMethods({ ...services, registry, flush }, onFailure)
  const server = await SessionServer.start({ serviceName, version, register })
  const guards = guardsOf(deps)
  const { addModernRoute, listens } = openModern(services, {
    ...guards,
    isRevoked,
    bearer: guards.modernBearer,
    extensions: deps.extensions,
    onFailure,
    onEnd: (reason) => observe({ kind: 'stream-ended', reason }),
  })
  const onFannedOut = (audience: Audience, seconds: number): void =>
    observe({ kind: 'fanned-out', audience, seconds })
  const shared = { registry, replay, listens, unheard, store: kept, flush }
  const hub = createSessionHub({ ...shared, serviceName, clock, onFannedOut })
  const restored = await kept.restore()
  registry.restore(restored)
  unheard.restore(restored.unheard)
  await tellWhatWasMissed({ store, registry, hub, published: restored.published })
  const addRoutes = (app: ServiceApp): void => {
    addMcpRoute(app, { registry, streams, limits, ...guards, server, flush })
    addModernRoute(app)
  }
  return { hub, ...operating({ ...shared, streams, hub }, addRoutes) }
}

type McpParts = {
  readonly registry: SessionRegistry
  readonly replay: ReplayBuffer
  readonly unheard: UnheardCorrections
  readonly store: SessionStore
  readonly streams: StreamKeeper
  readonly listens: Listens
  readonly hub: Pick<SubscribersHub, 'withdrawn'>
  readonly flush: () => Promise<void>
}

/** The endpoint's controls, while the service runs and when it ends. */
function operating(parts: McpParts, addRoutes: (app: ServiceApp) => void) {
  const { registry, replay, unheard, streams, listens, hub, flush } = parts
  const endStreams = (): void => {
    streams.endAll('shutdown')
    listens.endAll('shutdown')
  }
  return {
    /** Adds both endpoints, and ends all streams when the application closes. */
    addRoutes(app: ServiceApp): void {
      app.addHook('preClose', async () => endStreams())
      addRoutes(app)
    },
    figures: () => ({
      sessions: registry.count,
      streams: streams.count() + listens.count(),
      subscriptions: registry.subscriptions.count + listens.subscriptions(),
      framesHeld: replay.count(),
      framesSent: streams.framesSent() + listens.framesSent(),
      unheard: unheard.alerted().length,
      silent: registry.silent().length,
    }),
    /** Corrections of speakable records that nobody has heard for too long, the oldest first. */
    unheard: () => unheard.alerted().map(shownUnheard),
    /** Sessions that follow something and have had no stream for too long (C36), the longest silent first. */
    silent: (): readonly SilentFollower[] =>
      registry
        .silent()
        .map(({ silentSinceMs, sub, subscriptions }) => ({
          sub,
          sinceMs: silentSinceMs,
          uris: [...(subscriptions ?? [])],
        }))
        .toSorted((first, second) => first.sinceMs - second.sinceMs),
    heard: unheard.heard,
    /** Chains were erased (C31): removes every mention of them from what is kept for sessions. */
    erased: (topics: readonly TopicName[]): Promise<void> =>
      forgetChains(
        topics.flatMap((topic) => AUDIENCES.map((audience) => ({ ...topic, audience }))),
        parts,
      ).then(flush),
    /**
     * Chains were moved aside (C47): removes every mention of them too, and tells those who follow their URIs, who then find
     * nothing there. After a restart they are told once more.
     */
    freed: async (chains: readonly NamedChain[]): Promise<void> => {
      const slots = chains.map(({ audience, domain, patient }) => ({ patient, domain, audience }))
      await forgetChains(slots, parts)
      await hub.withdrawn(slots)
    },
    /** Ends all streams, telling clients to reconnect. */
    endStreams,
    /** Ends streams, stops timers and resolves when the sessions are stored: they outlive the process. */
    async close(): Promise<void> {
      endStreams()
      registry.stop()
      unheard.stop()
      await flush()
    },
  }
}

/** Sessions whose frames are checked before other work runs. */
const ERASING_SLICE = 100

async function forgetChains(slots: readonly ChainSlot[], of: McpParts): Promise<void> {
  const uris = slots.map(chainUri)
  const known = new Set(uris)
  for (const uri of known) of.unheard.heard(uri)
  of.store.save([{ kind: 'erased', uris }])
  let count = 0
  for (const session of of.registry.all()) {
    of.replay.erase(session, known)
    count += 1
    if (count % ERASING_SLICE === 0) await nextTurn()
  }
}

function guardsOf(deps: McpEndpointDeps) {
  const { allowedHosts = [], allowedOrigins, baseUrl, serviceName, tokens } = deps
  return {
    bearer: { tokens, serviceName, metadataUrl: `${baseUrl}${METADATA_PATH}` },
    modernBearer: {
      tokens: deps.modernTokens,
      serviceName,
      metadataUrl: `${baseUrl}${MODERN_METADATA_PATH}`,
      askFor: READ_SCOPES,
    },
    isOwnHost: createHostGuard({ baseUrl, allowedHosts }),
    isOwnOrigin: createOriginGuard({ baseUrl, allowedOrigins }),
  }
}

const shownUnheard = ({ sinceMs, ...known }: StoredUnheard): UnheardCorrection => ({
  ...known,
  since: new Date(sinceMs).toISOString(),
})

/**
 * A kill may come after a version is durable but before its frames are. So the start announces the versions that subscribed
 * chains gained since their last frames. A chain with fewer was begun anew where a topic was freed (C47).
 */
async function tellWhatWasMissed(deps: {
  readonly store: RecordStore
  readonly registry: SessionRegistry
  readonly hub: SessionHub
  readonly published: ReadonlyMap<string, number>
}): Promise<void> {
  const { store, registry, hub, published } = deps
  for (const uri of registry.subscriptions.uris()) {
    const publishedVersion = published.get(uri)
    const parsed = parseRecordUri(uri)
    if (publishedVersion === undefined || parsed === undefined || parsed.version !== undefined)
      continue
    const newest = await store.latest(parsed.slot)
    if (newest.kind !== 'found' || newest.latestVersion === publishedVersion) continue
    await hub.publish(newest.record, newest.previous)
  }
}
