/** The one composition: stores, domain, MCP side and application for one configuration. Nothing here reads the environment. */
import { randomBytes, randomUUID } from 'node:crypto'
import { createTokenVerifier, type IsRevoked } from '@tallystick/jwt-lite'
import {
  type Clock,
  DAY_MS,
  type Environment,
  findProgram,
  MINUTE_MS,
  Registry,
  type Service,
} from '@tallystick/service-kit'
import type { FastifyBaseLogger } from 'fastify'
import { openRowMac } from './adapters/keys/row-mac.ts'
import { openStores, type Stores } from './adapters/open-stores.ts'
import { createAlertWebhook } from './adapters/outside/alert-webhook.ts'
import { openEspeakSpeech } from './adapters/outside/espeak-speech.ts'
import { createEventWebhook } from './adapters/outside/event-webhook.ts'
import { createTrustedIssuers } from './adapters/outside/trusted-issuers.ts'
import { openWitnesses, type Witnesses } from './adapters/outside/witnesses.ts'
import { countRests } from './adapters/records/journal-slices.ts'
import { eventCursors, openEventSubscriptions } from './adapters/rows/event-subscriptions.ts'
import { openReadTrail, readPatientRows } from './adapters/rows/read-trail.ts'
import { readRevocations } from './adapters/rows/revoked-tokens.ts'
import type { SideRows } from './adapters/rows/side-rows.ts'
import { openUnheardRows } from './adapters/rows/unheard-rows.ts'
import { openVerdictRows } from './adapters/rows/verdict-rows.ts'
import { openWitnessRows } from './adapters/rows/witness-rows.ts'
import { CARE_VERSION, createCareApp } from './app.ts'
import type { CareConfig } from './config.ts'
import type { CareRecord } from './domain/care-record.ts'
import { EventDeliverer } from './domain/event-deliverer.ts'
import type { EventReport } from './domain/event-subscription.ts'
import { KnownNames } from './domain/known-names.ts'
import {
  type AuditTrail,
  createPublisher,
  type PublishRecord,
  type SessionHub,
} from './domain/publish-record.ts'
import { type RecordStore, RecordStoreUnavailable } from './domain/record-store.ts'
import { watchRevocations } from './domain/revocations.ts'
import { type Speech, SpeechUnavailable } from './domain/speech.ts'
import { describeSignIn } from './domain/trusted-issuer.ts'
import { createChainVerifier } from './domain/verification.ts'
import { watchAdded } from './domain/watch-added.ts'
import {
  createMcpEndpoint,
  type McpEndpoint,
  type McpEndpointDeps,
  type McpEvent,
} from './mcp/mcp-endpoint.ts'
import { createEventMethods, EVENT_CAPABILITIES } from './mcp/methods/event-methods.ts'
import type { TokenCheck } from './routes/bearer.ts'
import type { ReadLog } from './routes/reads-route.ts'
import { MODERN_MCP_PATH } from './routes/service-routes.ts'
import { createTelemetry } from './telemetry.ts'
import { EVENT_PROFILES } from './wire/events.ts'
import { chainUri } from './wire/record-uri.ts'
import { MESSAGES } from './wire/texts.ts'
import { requireTexts } from './wire/texts-schema.ts'
import type { UnheardAlert } from './wire/unheard.ts'

export { careConfigSchema } from './config.ts'

type CareServiceOptions = {
  readonly config: CareConfig
  readonly clock: Clock
  readonly logger?: FastifyBaseLogger | undefined
  /** Its `PATH` is searched for `espeak-ng`; without that program no record has an audio form. */
  readonly environment?: Environment | undefined
  /** Whether that clock follows the database's, as those of all its processes do; a test's own does not. */
  readonly followsDatabase?: boolean | undefined
}

export type CareService = Required<Omit<Service, 'start' | 'unfinished'>> & {
  readonly store: RecordStore
  readonly audit: AuditTrail
  readonly hub: SessionHub
}

/** Reports corrections that nobody has heard to the operator's webhook, if there is one. */
function openWebhook(
  { config, clock }: CareServiceOptions,
  onProblem: (error: Error) => void,
): { readonly tell: (event: McpEvent) => void; close(): Promise<void> } {
  const { SERVICE_NAME: serviceName, UNHEARD_MINUTES: minutes, UNHEARD_WEBHOOK_URL: url } = config
  const { UNHEARD_WEBHOOK_PRIVATE: isPrivate, UNHEARD_WEBHOOK_SECRET: secret } = config
  if (url === undefined) return { tell: () => undefined, close: async () => undefined }
  const webhook = createAlertWebhook({ url, secret, serviceName, isPrivate, clock, onProblem })
  return {
    tell: (event) => {
      if (event.kind !== 'unheard') return
      const alert: UnheardAlert = { type: 'care.correction.unheard', ...event.correction, minutes }
      webhook.send(alert)
    },
    close: () => webhook.close(),
  }
}

/** A program that does not say which voices it has speaks for nobody: a record is not listed as audio on trust (C37). */
async function openSpeech(
  { clock, environment }: CareServiceOptions,
  observe: McpEndpointDeps['observe'],
): Promise<Speech | undefined> {
  const program = findProgram('espeak-ng', environment?.['PATH'] ?? '')
  if (program === undefined) return undefined
  try {
    return await openEspeakSpeech({ program, clock })
  } catch (error) {
    if (!(error instanceof SpeechUnavailable)) throw error
    observe?.({ kind: 'speech-failed', error })
    return undefined
  }
}

async function openMcp(
  options: CareServiceOptions,
  parts: Pick<McpEndpointDeps, 'store' | 'sessions' | 'tokens' | 'modernTokens'> &
    Partial<McpEndpointDeps>,
): Promise<McpEndpoint> {
  const { config, clock } = options
  const { AUTHORIZATION_SERVERS: servers, TRUSTED_ISSUERS: issuers } = config
  return createMcpEndpoint({
    ...parts,
    clock,
    random: randomBytes,
    chance: Math.random,
    speech: await openSpeech(options, parts.observe),
    baseUrl: config.BASE_URL,
    verifyUrl: config.VERIFY_NAMES === 'private' ? undefined : `${config.BASE_URL}/verify`,
    allowedHosts: config.ALLOWED_HOSTS,
    allowedOrigins: config.ALLOWED_ORIGINS,
    serviceName: config.SERVICE_NAME,
    scopes: describeSignIn({ servers, issuers }).scopes,
    version: CARE_VERSION,
    language: config.LANGUAGE,
    timeZone: config.TIME_ZONE,
    replayBeyond: config.REPLAY_BEYOND,
    limits: {
      idleMs: config.SESSION_IDLE_SECONDS * 1_000,
      absoluteMs: config.SESSION_TTL_SECONDS * 1_000,
      sessionsMax: config.SESSIONS_MAX,
      sessionsPerSubMax: config.SESSIONS_PER_SUB_MAX,
      retractionMs: config.RETRACTION_DAYS * DAY_MS,
      silentMs: config.SILENT_SECONDS * 1_000,
      unheardMs: config.UNHEARD_MINUTES * MINUTE_MS,
    },
  })
}

/** On a file the corrections that nobody heard are this process's. */
const shareUnheard = ({ lease, sides }: Stores): McpEndpointDeps['unheardOfAll'] =>
  sides.engine === 'postgres' ? { lease, rows: openUnheardRows(sides, lease) } : undefined

/** On a file nobody else replays. */
function openVerifier(
  { config }: CareServiceOptions,
  { clock, lease, process, records: store, sides }: Stores,
  onProblem: (error: unknown) => void,
) {
  const mac = sides.engine === 'postgres' ? openRowMac(config, 'verdicts') : undefined
  const on = { unixMs: () => clock.unixMs(), onProblem }
  return createChainVerifier({
    store,
    clock,
    toIso,
    countProcesses: () => process.living(),
    ...countRests(store.journals),
    shared: mac && { lease, verdicts: openVerdictRows(sides, mac, on) },
  })
}

/** Nor does anybody else show it to witnesses. */
function shareWitnesses({ config }: CareServiceOptions, { lease, records, sides }: Stores) {
  const isAsked = sides.engine === 'postgres' && config.WITNESSES.length > 0
  const mac = isAsked ? openRowMac(config, 'witness news') : undefined
  const onGrown: typeof records.onGrown = (listener) => records.onGrown(listener)
  return mac && { lease, rows: openWitnessRows(sides, mac, lease), onGrown }
}

/** MCP Events by webhook, if configured (C22). */
function openEvents(
  { config, clock }: CareServiceOptions,
  parts: {
    readonly stores: Stores
    readonly isRevoked: IsRevoked
    /** A receiver took the newest version of a record. */
    readonly onHeard: (record: CareRecord) => void
    readonly observe: (report: EventReport) => void
  },
) {
  const { EVENTS, EVENTS_HOSTS: hosts, EVENTS_PRIVATE: isPrivate, SEAL_KEYS: ring } = config
  if (EVENTS === 'off' || ring === undefined) return { extensions: undefined, deliverer: undefined }
  const { lease, records: store, sides } = parts.stores
  const subscriptions = openEventSubscriptions(sides, ring, lease)
  const cursors = eventCursors(ring)
  const profile = EVENT_PROFILES[EVENTS]
  const webhook = createEventWebhook({ clock, profile, mayBePrivate: isPrivate })
  const common = { store, subscriptions, cursorText: cursors.write, clock }
  const deliverer = new EventDeliverer({
    ...common,
    ...parts,
    lease,
    isShared: sides.engine === 'postgres',
    deliver: webhook.deliver,
    chance: Math.random,
  })
  const methods = createEventMethods({
    ...common,
    challenge: webhook.challenge,
    onChanged: (id) => deliverer.changed(id),
    readCursor: cursors.read,
    profile,
    mayBePlain: isPrivate,
    hosts,
    draw: randomUUID,
  })
  const extensions = { methods, capabilities: EVENT_CAPABILITIES }
  return { deliverer, extensions }
}

/** Keeps who read what, if configured. */
function openReads(
  { config, clock }: CareServiceOptions,
  parts: { readonly sides: SideRows; readonly onProblem: (error: unknown) => void },
) {
  const { READ_AUDIT, READ_AUDIT_DAYS: keptDays } = config
  if (READ_AUDIT === 'off') return { noteRead: () => undefined, close: async () => undefined }
  return openReadTrail(parts.sides, { clock, keptDays, onProblem: parts.onProblem })
}

/** Judges tokens for a path: the ring of secrets, and the trusted issuers beside it. */
function tokenChecks(
  { config, clock }: CareServiceOptions,
  on: Pick<Parameters<typeof createTrustedIssuers>[0], 'isRevoked'> &
    Pick<Stores, 'process'> &
    Pick<ReturnType<typeof createTelemetry>, 'onIssuerProblem'>,
): (path: string) => TokenCheck {
  const { TOKEN_SECRET: keys, TRUSTED_ISSUERS: issuers } = config
  const { isRevoked, onIssuerProblem: onProblem } = on
  const countProcesses = () => on.process.living()
  const withIssuers = createTrustedIssuers({ issuers, clock, isRevoked, countProcesses, onProblem })
  return (path) => {
    const audience = `${config.BASE_URL}${path}`
    return withIssuers(createTokenVerifier({ keys, audience, clock, isRevoked }), audience)
  }
}

type Watched = Pick<Parameters<typeof watchAdded>[0], 'clock' | 'onProblem'>

/** Tells sessions what commands erase and free beside the service. */
const watchGone = ({
  mcp,
  store,
  ...watched
}: Watched & { readonly store: RecordStore; readonly mcp: McpEndpoint }) =>
  Promise.all([
    watchAdded({
      ...watched,
      read: () => store.erased(),
      toName: ({ domain, patient, turn }) => `${patient}|${domain}|${turn}`,
      onAdded: (chains) => mcp.erased(chains),
    }),
    watchAdded({
      ...watched,
      read: () => store.freed(),
      toName: chainUri,
      onAdded: (chains) => mcp.freed(chains),
    }),
  ])

/** Asks the witnesses whether the store was put back (C42), before anything of it is told. */
async function compareWithWitnesses(
  { config, clock }: CareServiceOptions,
  parts: {
    readonly stores: Stores
    readonly telemetry: Pick<ReturnType<typeof createTelemetry>, 'onWitnessProblem'>
    readonly onProblem: (error: unknown) => void
    readonly mcp: Pick<McpEndpoint, 'endStreams'>
    readonly deliverer: EventDeliverer | undefined
  },
): Promise<Witnesses> {
  const witnesses = openWitnesses({
    config,
    clock,
    journal: parts.stores.records.journals.user,
    shared: shareWitnesses({ config, clock }, parts.stores),
    chance: Math.random,
    onProblem: parts.telemetry.onWitnessProblem,
    onError: parts.onProblem,
    onLead: () => {
      parts.mcp.endStreams()
      void parts.deliverer?.close()
    },
  })
  await witnesses.compared()
  return witnesses
}

/** Shows what is written to the witnesses; the first record of an empty store is acknowledged only behind their answer (C42). */
const provenPublisher =
  (publish: PublishRecord, { behind, compared, push }: Witnesses): PublishRecord =>
  async (write) => {
    if (write.record.audience !== 'user') return publish(write)
    // A failed write may be durable nevertheless.
    const outcome = await publish(write).finally(() => push.grown())
    await compared()
    const trouble = behind()
    if (trouble !== undefined) throw trouble
    return outcome
  }

const toIso = (ms: number): string => new Date(ms).toISOString()

async function requireWholeImport({ records }: Stores): Promise<void> {
  if (await records.isHalfImported())
    throw new RecordStoreUnavailable(
      'an import was cut off, and only a first part of its records is here: run "care import FILE" again, which goes on from there',
    )
}

/**
 * Opens the stores and takes over the sessions that an earlier process left. Rejects with `RecordStoreUnavailable` and
 * its like if a store cannot be opened; their messages are for the operator.
 */
export async function createCareService(opening: CareServiceOptions): Promise<CareService> {
  const { config, logger } = opening
  requireTexts(MESSAGES)
  const registry = new Registry()
  const telemetry = createTelemetry(registry, logger)
  const onProblem = (error: unknown): void => logger?.error({ err: error }, 'store problem')
  // Whatever was opened is closed, last first: when the service ends, or here if something cannot be opened.
  await using opened = new AsyncDisposableStack()
  const ending = <Part extends { close(): void | Promise<void> }>(part: Part): Part =>
    opened.adopt(part, () => part.close())
  const stored = { ...opening, onProblem, onRow: telemetry.onWrite }
  const stores = ending(await openStores(config, stored))
  await requireWholeImport(stores)
  const { records: store, sessions, audit, sides, clock, process } = stores
  const options = { ...opening, clock }
  const watched = { clock, onProblem }
  const { isRevoked } = ending(
    await watchRevocations({ ...watched, read: () => readRevocations(sides) }),
  )
  const { noteRead } = ending(openReads(options, { sides, onProblem }))
  const tokensFor = tokenChecks(options, { isRevoked, process, ...telemetry })
  const [tokens, modernTokens] = [tokensFor('/mcp'), tokensFor(MODERN_MCP_PATH)]
  const webhook = ending(openWebhook(options, telemetry.onWebhookProblem))
  const observe = (event: McpEvent): void => {
    telemetry.onMcp(event)
    webhook.tell(event)
  }
  const onHeard = (record: CareRecord) => mcp.heard(chainUri(record), record.version)
  const events = openEvents(options, { stores, isRevoked, onHeard, observe: telemetry.onEvents })
  const { deliverer, extensions } = events
  const unheardOfAll = shareUnheard(stores)
  const read = { store, sessions, tokens, modernTokens, extensions, unheardOfAll }
  const mcp = ending(await openMcp(options, { ...read, observe, isRevoked, noteRead }))
  for (const watch of await watchGone({ ...watched, store, mcp })) ending(watch)
  const verifier = ending(openVerifier(options, stores, onProblem))
  if (deliverer !== undefined) ending(deliverer)
  const observers = { telemetry, onProblem, mcp, deliverer, stores }
  const witnesses = ending(await compareWithWitnesses(options, observers))
  const { behind } = witnesses
  if (behind() === undefined) await deliverer?.start()
  const { startCommit } = telemetry
  const parts = { config, clock, logger, registry, store, audit, tokens }
  const names = await KnownNames.read(store)
  const publisher = createPublisher({ ...parts, hub: mcp.hub, startCommit, names })
  const isWitnessed = config.WITNESSES.length > 0
  const publish = isWitnessed ? provenPublisher(publisher, witnesses) : publisher
  const readLog: ReadLog = {
    recording: config.READ_AUDIT,
    days: config.READ_AUDIT_DAYS,
    rows: (query) => readPatientRows(sides, query),
  }
  const figures = { mcp: () => mcp.figures(), replays: () => verifier.runs() }
  const { postgres, writeTrouble } = stores
  telemetry.measure({ ...figures, events: () => deliverer?.count() ?? 0, postgres })
  const shown = { verifier, mcp, witnesses: witnesses.push, writeTrouble, behind }
  const app = await createCareApp({ ...parts, ...shown, publish, noteRead, readLog })
  const ends = opened.move()
  return {
    app,
    registry,
    store,
    audit,
    hub: mcp.hub,
    stopping: () => {
      stores.stopping()
      mcp.endStreams()
    },
    close: () => ends.disposeAsync(),
  }
}
