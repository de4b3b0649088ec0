// Clients of a care cluster that note what they see: clinicians who write, hosts that read, and hosts that listen.
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { EventReader } from '../../../services/care/src/mcp/sessions/event-reader.fixture.ts'
import { careToken, writeSignature } from '../care-writer.ts'
import type { CareCluster } from './care-cluster.ts'
import type { ReadSeen, SessionSeen, WriteSeen } from './check-history.ts'

type Care = CareCluster['care']

/** A writer sends the same signed write until it is answered, for so long, milliseconds: longer than a failover. */
const WRITE_MS_MAX = 60_000
const REQUEST_MS_MAX = 25_000
const AGAIN_MS = 200
/**
 * Answers that decide nothing about a write: 429, and 408, which Node's server sends by itself to a connection whose request did
 * not arrive in time, as when its process was stopped meanwhile.
 */
const SAYS_NOTHING: ReadonlySet<number> = new Set([408, 429])

const chainUri = (at: number): string => `care://chain-${at}/note`

const fetchSoon = (url: string, options: RequestInit): Promise<Response> =>
  fetch(url, { ...options, signal: AbortSignal.timeout(REQUEST_MS_MAX) })

/** Writes until it ends; what it has seen so far is in `seen`. */
export async function runWriter(
  care: Care,
  load: {
    readonly name: string
    readonly chains: number
    readonly pauseMs: number
    readonly ended: AbortSignal
  },
  seen: WriteSeen[] = [],
): Promise<readonly WriteSeen[]> {
  for (let turn = 0; !load.ended.aborted; turn += 1) {
    const chain = turn % load.chains
    const value = `${load.name} ${turn}`
    seen.push(await writeOnce(care, { chain, value }))
    await pause(load.pauseMs)
  }
  return seen
}

export async function writeOnce(
  care: Care,
  { chain, value }: { readonly chain: number; readonly value: string },
): Promise<WriteSeen> {
  const body = JSON.stringify({
    patient: `chain-${chain}`,
    domain: 'note',
    value,
    authorId: 'dr-osei',
    authorLabel: 'Dr Osei',
  })
  const headers = { 'content-type': 'application/json', ...writeSignature(care, body) }
  const startMs = Date.now()
  const source = { chain: chainUri(chain), value, startMs }
  while (Date.now() - startMs < WRITE_MS_MAX) {
    const answer = await fetchSoon(`${care.baseUrl}/write`, {
      method: 'POST',
      headers,
      body,
    }).catch(() => undefined)
    const text = await answer?.text().catch(() => undefined)
    if (answer?.status === 200 && text !== undefined) {
      const { version } = JSON.parse(text) as { version: number }
      return { ...source, outcome: { kind: 'acknowledged', version, endMs: Date.now() } }
    }
    if (answer !== undefined && answer.status < 500 && !SAYS_NOTHING.has(answer.status))
      return { ...source, outcome: { kind: 'refused', answer: `${answer.status} ${text}` } }
    await pause(AGAIN_MS)
  }
  return { ...source, outcome: { kind: 'unknown' } }
}

type Message = {
  readonly method?: string
  readonly params?: {
    readonly uri?: string
    readonly data?: { readonly uri?: string; readonly version?: number }
  }
}

type Listening = {
  readonly name: string
  /** The one that it follows. */
  readonly chain: number
  /** It hears of all chains, by notices; the others asked for none. */
  readonly hearsAll: boolean
}

/** Above the level of notices. */
const QUIET_LEVEL = 'emergency'

/** What a listener heard: of all chains by their notices, and of the followed one by its updates. */
function hearing({ name, hearsAll }: Pick<Listening, 'name' | 'hearsAll'>, followed: string) {
  const heard: { chain: string; version: number }[] = []
  const heardMs: number[] = []
  const ids = new Set<string>()
  let [updates, repeated] = [0, 0]
  return {
    /** Without an id, an update that came twice is not told from one more version. */
    hear: ({ method, params }: Message, id?: string): void => {
      heardMs.push(Date.now())
      if (id !== undefined && ids.has(id)) repeated += 1
      if (id !== undefined) ids.add(id)
      const { uri, version } = params?.data ?? {}
      if (method === 'notifications/message' && uri !== undefined && version !== undefined)
        heard.push({ chain: uri, version })
      if (method === 'notifications/resources/updated' && params?.uri === followed) updates += 1
    },
    /** `from`: the versions of each chain that were there before. */
    seen: (from: ReadonlyMap<string, number>): readonly SessionSeen[] => {
      const first = from.get(followed) ?? 0
      const followedAlone = new Map(
        [...from].map(([chain, version]) => [
          chain,
          chain === followed ? version : Number.POSITIVE_INFINITY,
        ]),
      )
      return [
        ...(hearsAll ? [{ name: `${name}, by notices,`, from, heard }] : []),
        {
          name: `${name}, by updates,`,
          from: followedAlone,
          heard: [
            ...Array.from({ length: updates }, (_, at) => ({
              chain: followed,
              version: first + at + 1,
            })),
            ...Array.from({ length: repeated }, () => ({ chain: followed, version: first })),
          ],
        },
      ]
    },
    /** The longest time in which it heard nothing, from then on, milliseconds. */
    silenceMs: (fromMs: number): number => {
      const times = [fromMs, ...heardMs.slice(heardMs.findLastIndex((ms) => ms < fromMs) + 1)]
      return Math.max(...times.map((ms, at) => ms - (times[at - 1] ?? ms)))
    },
  }
}

export type Listener = {
  seen(from: ReadonlyMap<string, number>): readonly SessionSeen[]
  silenceMs(fromMs: number): number
  /** Whether its client asks no more: the official one tries twice, and a machine that is too busy lets it down. */
  hasGivenUp(): boolean
  stop(): Promise<void>
}

const HELLO = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'cluster', version: '1' },
}

/** A host that asks again, with the last event's id, whenever its stream ends. */
export async function listen(
  { care, proxyPort: port }: Pick<CareCluster, 'care' | 'proxyPort'>,
  listening: Listening,
): Promise<Listener> {
  const { chain, hearsAll, name } = listening
  const token = careToken(care, { sub: name, scope: 'care.read.user' })
  let sessionId: string | undefined
  const post = async (message: object): Promise<Response> => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
      ...(sessionId !== undefined && { 'mcp-session-id': sessionId }),
    }
    const answer = await fetchSoon(care.mcpUrl, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
    await answer.text()
    if (!answer.ok) throw new Error(`${name}: ${JSON.stringify(message)} got ${answer.status}`)
    return answer
  }
  sessionId =
    (await post({ id: 0, method: 'initialize', params: HELLO })).headers.get('mcp-session-id') ?? ''
  await post({ method: 'notifications/initialized' })
  const uri = chainUri(chain)
  await post({ id: 1, method: 'resources/subscribe', params: { uri } })
  if (!hearsAll) await post({ id: 2, method: 'logging/setLevel', params: { level: QUIET_LEVEL } })
  const { hear, seen, silenceMs } = hearing(listening, uri)
  const session = sessionId
  let lastEventId: string | undefined
  const stopped = new AbortController()
  const open = () => EventReader.open({ port, token, sessionId: session, lastEventId })
  let reader: EventReader | undefined = await open()
  const run = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const events = reader?.events.splice(0) ?? []
      for (const { id, message } of events) {
        lastEventId = id ?? lastEventId
        if (message !== undefined) hear(message, id)
      }
      if (reader === undefined || (reader.hasEnded && reader.events.length === 0))
        reader = await open().catch(() => undefined)
      await pause(50)
    }
  }
  const running = run()
  return {
    seen,
    silenceMs,
    hasGivenUp: () => false,
    async stop() {
      stopped.abort()
      await running
      reader?.drop()
    },
  }
}

/** What the official client says as it gives up. */
const GIVEN_UP = 'Maximum reconnection attempts'

/** The same with the official SDK, which asks again by itself. */
export async function listenOfficially(care: Care, listening: Listening): Promise<Listener> {
  const { chain, hearsAll, name } = listening
  const token = careToken(care, { sub: name, scope: 'care.read.user' })
  const client = new Client({ name: 'cluster', version: '1.0.0' })
  const uri = chainUri(chain)
  const { hear, seen, silenceMs } = hearing(listening, uri)
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (message) => hear(message))
  client.setNotificationHandler(LoggingMessageNotificationSchema, (message) =>
    hear(message as Message),
  )
  let hasGivenUp = false
  Object.assign(client, {
    onerror: ({ message }: Error) => (hasGivenUp ||= message.startsWith(GIVEN_UP)),
  })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(care.mcpUrl), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  )
  await client.subscribeResource({ uri })
  if (!hearsAll) await client.setLoggingLevel(QUIET_LEVEL)
  return { seen, silenceMs, hasGivenUp: () => hasGivenUp, stop: () => client.close() }
}

/** Reads until it ends; a read that fails saw nothing. */
export async function runReader(
  care: Care,
  load: {
    readonly name: string
    readonly chains: number
    readonly pauseMs: number
    readonly ended: AbortSignal
  },
): Promise<readonly ReadSeen[]> {
  const seen: ReadSeen[] = []
  const token = careToken(care, { sub: load.name, scope: 'care.read.user' })
  const connect = async (): Promise<Client> => {
    const client = new Client({ name: 'reader', version: '1.0.0' })
    await client.connect(
      new StreamableHTTPClientTransport(new URL(care.mcpUrl), {
        requestInit: { headers: { authorization: `Bearer ${token}` } },
      }),
    )
    return client
  }
  let client: Client | undefined
  for (let turn = 0; !load.ended.aborted; turn += 1) {
    const uri = chainUri(turn % load.chains)
    const startMs = Date.now()
    try {
      client ??= await connect()
      const { contents } = await client.readResource({ uri })
      const { version, value } = contents[0]?._meta ?? {}
      if (typeof version === 'number' && typeof value === 'string')
        seen.push({ chain: uri, startMs, endMs: Date.now(), version, value })
    } catch {
      // It asks the next time.
    }
    await pause(load.pauseMs)
  }
  await client?.close()
  return seen
}
