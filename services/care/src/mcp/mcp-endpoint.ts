/** The MCP side of the service, assembled: sessions, streams, methods and the route. */

import type { IsRevoked } from '@tallystick/jwt-lite'
import type { ServiceApp } from '@tallystick/service-kit'
import { RecordStoreUnavailable, type TopicName } from '../domain/record-store.ts'
import { READ_SCOPES } from '../domain/scopes.ts'
import type { SessionStore, StoredUnheard } from '../domain/session-store.ts'
import { createSharedUnheard } from '../domain/shared-unheard.ts'
import type { Speech, SpeechUnavailable } from '../domain/speech.ts'
import type { AdvertisedScopes } from '../domain/trusted-issuer.ts'
import {
  createUnheardCorrections,
  type SilentFollower,
  type UnheardCorrections,
} from '../domain/unheard-corrections.ts'
import type { TokenCheck } from '../routes/bearer.ts'
import { METADATA_PATH, MODERN_METADATA_PATH } from '../routes/service-routes.ts'
import { AUDIENCES, type Audience } from '../wire/audience.ts'
import { type ChainSlot, chainUri, type NamedChain } from '../wire/record-uri.ts'
import type { UnheardCorrection } from '../wire/unheard.ts'
import { createHostGuard, createOriginGuard } from './edges/admission.ts'
import type { Listens } from './edges/listens.ts'
import { addMcpRoute, type ReplayBeyond } from './edges/mcp-route.ts'
import { type ModernExtensions, openModern } from './edges/modern-route.ts'
import { registerMethods } from './methods/dispatch.ts'
import { createChangeCursors } from './records/change-cursors.ts'
import { createRecordAudio } from './records/record-audio.ts'
import { RecordIndex } from './records/record-index.ts'
import type { McpServices } from './records/visible-records.ts'
import { createSessionHub } from './session-hub.ts'
import { createEventIds } from './sessions/event-ids.ts'
import { createStreamKeeper, type StreamKeeper } from './sessions/event-streams.ts'
import { createJournalFollower, type JournalFollower } from './sessions/journal-follower.ts'
import { DEFAULT_MCP_LIMITS, type McpLimits } from './sessions/limits.ts'
import type { StreamEnd } from './sessions/open-stream.ts'
import {
  type SessionEnd,
  SessionRegistry,
  type SessionRegistryDeps,
} from './sessions/session-registry.ts'
import { SessionServer } from './sessions/session-server.ts'

/** What the endpoint reports, for logs and metrics. Nothing in it names a record, patient, principal or session. */
export type McpEvent =
  | { readonly kind: 'session-ended'; readonly reason: SessionEnd }
  | { readonly kind: 'stream-ended'; readonly reason: StreamEnd }
  /** How long after it was durable a record's frames were written to every open stream entitled to them. */
  | { readonly kind: 'fanned-out'; readonly audience: Audience; readonly seconds: number }
  /** Someone must look: a dependency failed, or there is a bug; a caller, if there is one, got -32603. */
  | { readonly kind: 'request-failed'; readonly error: unknown }
  /** Sessions could not be stored: who asked for a change was refused, and the others go on. */
  | { readonly kind: 'session-store-failed'; readonly error: RecordStoreUnavailable }
  | { readonly kind: 'speech-failed'; readonly error: SpeechUnavailable }
  /** Names a record, so logs and metrics only count it. */
  | { readonly kind: 'unheard'; readonly correction: UnheardCorrection }

export type McpEndpointDeps = Pick<McpServices, 'store' | 'clock' | 'serviceName' | 'version'> &
  Partial<Pick<McpServices, 'language' | 'noteRead' | 'timeZone' | 'verifyUrl'>> & {
    /** Whether the token with that `jti` was revoked: its stream ends. */
    readonly isRevoked?: IsRevoked | undefined
    /** Origins of pages that may call, besides the service's own; absent, any may. */
    readonly allowedOrigins?: readonly string[] | undefined
    /** Opened by the caller, who also closes it after `close`. */
    readonly sessions: SessionStore
    /** Where several processes serve the records: who raises alerts, and the rows that they share. */
    readonly unheardOfAll?:
      | Pick<Parameters<typeof createSharedUnheard>[0], 'lease' | 'rows'>
      | undefined
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
    /** What hosts are told to ask for; by default our own names of all scopes. */
    readonly scopes?: AdvertisedScopes | undefined
    /** Host names under which `/mcp` is reached, besides the base URL's and loopback. */
    readonly allowedHosts?: readonly string[] | undefined
    readonly limits?: Partial<McpLimits> | undefined
    /** By default an event id that lies too far behind is unknown. */
    readonly replayBeyond?: ReplayBeyond | undefined
    readonly observe?: ((event: McpEvent) => void) | undefined
  }

export type McpEndpoint = Awaited<ReturnType<typeof createMcpEndpoint>>

/** Takes over an earlier process's sessions. Rejects with `RecordStoreUnavailable`. */
export async function createMcpEndpoint(deps: McpEndpointDeps) {
  const { clock, observe = () => undefined, serviceName, sessions, store, version } = deps
  const { isRevoked = () => false, replayBeyond = 'unknown' } = deps
  const limits = { ...DEFAULT_MCP_LIMITS, ...deps.limits }
  const onFailure = (error: unknown): void => observe({ kind: 'request-failed', error })
  const onProblem = reportFailure(observe)
  const flush = (): Promise<void> => sessions.flush().catch(onProblem)
  const { registry, restored } = await openRegistry(deps, {
    limits,
    onProblem,
    busy: () => server.busy(),
    onCancelled: (cancelled) => void server.cancel(cancelled),
    onForgotten: () => listens.endAll('forgotten'),
    onEnd: (session, reason) => {
      server.release(session)
      observe({ kind: 'session-ended', reason })
    },
  })
  const eventIds = createEventIds(restored.eventKey)
  const follower = createJournalFollower({
    store,
    serviceName,
    clock,
    onFailure,
    looks: registry.looks,
    onFannedOut: (audience, seconds) => observe({ kind: 'fanned-out', audience, seconds }),
  })
  const unheard = openUnheard(deps, {
    waitMs: limits.unheardMs,
    onAlert: (stored) => observe({ kind: 'unheard', correction: shownUnheard(stored) }),
    onFailure,
  })
  const streamed = { clock, limits, isRevoked, onFailure, follower }
  const streams = createStreamKeeper({
    ...streamed,
    eventIds,
    chance: deps.chance,
    onUpdate: unheard.heard,
    keepCarried: (session, epoch) => registry.keepCarried(session, epoch),
    onEnd: ({ epoch, session }, reason) => {
      registry.fallSilent(session, epoch)
      observe({ kind: 'stream-ended', reason })
    },
  })
  const services = createServices(deps, { observe, limits, unheard, eventKey: restored.eventKey })
  const register = registerMethods({ ...services, registry }, onFailure)
  const server = await SessionServer.start({ serviceName, version, register })
  const guards = createGuards(deps)
  const { addModernRoute, listens } = openModern(services, {
    ...guards,
    ...streamed,
    bearer: guards.modernBearer,
    extensions: deps.extensions,
    onEnd: (reason) => observe({ kind: 'stream-ended', reason }),
    rows: sessions.listens,
  })
  const shared = { registry, listens, unheard, follower, flush, recordIndex: services.recordIndex }
  await unheard.restore(restored, store)
  // Another process may have changed something that streams tell.
  const look = (): void => void registry.looks.again().then(follower.wake, onProblem)
  const unwatch = sessions.watch(look, follower.areThere)
  const addRoutes = (app: ServiceApp): void => {
    addMcpRoute(app, { ...shared, ...guards, streams, eventIds, replayBeyond, limits, server })
    addModernRoute(app)
  }
  return {
    hub: createSessionHub({ ...shared, rows: sessions.listens, onProblem }),
    ...operating({ ...shared, streams, unwatch }, addRoutes),
  }
}

/** Of this process alone, or of all that serve the records. */
const openUnheard = (
  { clock, sessions, store, unheardOfAll }: McpEndpointDeps,
  on: Omit<Parameters<typeof createSharedUnheard>[0], 'clock' | 'lease' | 'records' | 'rows'>,
): UnheardCorrections =>
  unheardOfAll === undefined
    ? createUnheardCorrections({ ...on, clock, store: sessions })
    : createSharedUnheard({ ...on, ...unheardOfAll, clock, records: store })

/** What every method of both revisions needs. */
function createServices(
  { speech, ...deps }: McpEndpointDeps,
  on: Pick<McpServices, 'limits' | 'unheard'> & {
    readonly observe: (event: McpEvent) => void
    readonly eventKey: Uint8Array
  },
): McpServices {
  const { clock, language, noteRead, serviceName, store, timeZone, verifyUrl, version } = deps
  const { eventKey, limits, observe, unheard } = on
  const onFailure = (error: SpeechUnavailable) => observe({ kind: 'speech-failed', error })
  const audio = speech && createRecordAudio({ speech, onFailure })
  const changeCursors = createChangeCursors(eventKey)
  const said = { serviceName, version, verifyUrl, language, timeZone }
  const recordIndex = new RecordIndex({ store, clock, chainsMax: limits.searchChainsMax })
  // Ahead of the first search: what cannot be read now, that reads, or says why not.
  void recordIndex.fill().catch(() => undefined)
  const made = { audio, limits, unheard, recordIndex, changeCursors }
  return { store, clock, noteRead, ...made, ...said }
}

/** Reports that sessions could not be stored, or a bug: nobody waits for what a timer begins, so it may not throw. */
const reportFailure =
  (observe: (event: McpEvent) => void) =>
  (error: unknown): void =>
    observe(
      error instanceof RecordStoreUnavailable
        ? { kind: 'session-store-failed', error }
        : { kind: 'request-failed', error },
    )

/** Enters among the processes that serve the sessions. */
async function openRegistry(
  { clock, random, sessions, store }: McpEndpointDeps,
  on: Omit<SessionRegistryDeps, 'clock' | 'store' | 'records' | 'randomBytes'>,
) {
  const { assistant, user } = store.journals
  await sessions.enter({ user: user.size, assistant: assistant.size })
  const restored = await sessions.restore()
  const registry = new SessionRegistry({
    ...on,
    clock,
    store: sessions,
    records: store,
    randomBytes: random,
  })
  registry.restore(restored)
  return { registry, restored }
}

type McpParts = {
  readonly registry: SessionRegistry
  readonly unheard: UnheardCorrections
  readonly follower: JournalFollower
  readonly recordIndex: RecordIndex
  readonly streams: StreamKeeper
  readonly listens: Listens
  readonly flush: () => Promise<void>
  /** Looks no more at what other processes change. */
  readonly unwatch: () => void
}

/** The endpoint's controls, while the service runs and when it ends. */
function operating(parts: McpParts, addRoutes: (app: ServiceApp) => void) {
  const { registry, unheard, follower, recordIndex, streams, listens, flush, unwatch } = parts
  /** They are not there any more: nothing of them may be told from memory, nor is anybody to be alarmed. */
  const forget = (slots: readonly ChainSlot[]): void => {
    for (const slot of slots) unheard.heard(chainUri(slot))
    follower.forget()
    recordIndex.forget(slots)
  }
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
      subscriptions: registry.subscriptions.count + listens.index.count,
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
        .map(({ session, sinceMs }) => ({
          sub: session.sub,
          sinceMs,
          uris: [...(session.subscriptions?.keys() ?? [])],
        }))
        .toSorted((first, second) => first.sinceMs - second.sinceMs),
    heard: unheard.heard,
    /** Chains were erased (C31). */
    erased: async (topics: readonly TopicName[]): Promise<void> => {
      forget(topics.flatMap((topic) => AUDIENCES.map((audience) => ({ ...topic, audience }))))
      await flush()
    },
    /** Chains were moved aside (C47): streams tell those who follow their URIs, who then find nothing there. */
    freed: async (chains: readonly NamedChain[]): Promise<void> => {
      forget(chains.map(({ audience, domain, patient }) => ({ patient, domain, audience })))
      await flush()
    },
    /** Ends all streams, telling clients to reconnect. */
    endStreams,
    /** Ends streams, stops timers and resolves when the sessions are stored: they outlive the process. */
    async close(): Promise<void> {
      endStreams()
      unwatch()
      recordIndex.close()
      registry.stop()
      unheard.stop()
      await flush()
    },
  }
}

function createGuards(deps: McpEndpointDeps) {
  const { allowedHosts = [], allowedOrigins, baseUrl, scopes, serviceName, tokens } = deps
  const metadataUrl = `${baseUrl}${METADATA_PATH}`
  return {
    bearer: { tokens, serviceName, metadataUrl, scopes: scopes?.all },
    modernBearer: {
      tokens: deps.modernTokens,
      serviceName,
      metadataUrl: `${baseUrl}${MODERN_METADATA_PATH}`,
      askFor: scopes?.reading ?? READ_SCOPES,
    },
    isOwnHost: createHostGuard({ baseUrl, allowedHosts }),
    isOwnOrigin: createOriginGuard({ baseUrl, allowedOrigins }),
  }
}

/** As the operator is told of it, by the webhook and in lists. */
export const shownUnheard = ({ sinceMs, ...known }: StoredUnheard): UnheardCorrection => ({
  ...known,
  since: new Date(sinceMs).toISOString(),
})
