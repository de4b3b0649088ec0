// Several processes of the service on one PostgreSQL, as an operator starts them, and clients that may ask any of them.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { migratePostgresStore } from '@tallystick/journal-store/postgres'
import {
  type PostgresServer,
  runSql,
  startPostgres,
} from '@tallystick/journal-store/postgres-server'
import { createTokenKeys, mintToken } from '@tallystick/jwt-lite'
import { pause, systemClock } from '@tallystick/service-kit'
import { startServiceProcess } from '@tallystick/service-kit/service-process'
import { openFileKeys } from '../adapters/keys/chain-keys-file.ts'
import { openPostgresRecordStore } from '../adapters/records/postgres-record-store.ts'
import { POSTGRES_RECORDS } from '../adapters/schemas/postgres-record-database.ts'
import { runCare } from '../command/run-care.ts'
import { modernBody, modernHeaders } from '../mcp/edges/modern.fixture.ts'
import { EventReader } from '../mcp/sessions/event-reader.fixture.ts'
import { sendSignedWrite } from '../seed/seed-records.ts'
import type { WriteAnswer } from '../wire/write.ts'
import {
  MODERN_RESOURCE,
  RESOURCE,
  TOKEN_SECRET,
  testConfig,
  testEnvironment,
  WRITE_SECRET,
} from './care.fixture.ts'

const KEYS = createTokenKeys([Buffer.from(TOKEN_SECRET)])
const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url))
export const [USER, BOTH] = ['care.read.user', 'care.read.user care.read.assistant']

type Answer = {
  readonly status: number
  readonly sessionId: string
  readonly body: {
    readonly result?: Readonly<Record<string, unknown>>
    readonly error?: { readonly code: number }
  }
}

/** One process. */
export type RunningProcess = {
  readonly url: string
  readonly port: number
  readonly pid: number | undefined
  kill(signal: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>
}

export const tokenFor = (scope: string, sub = 'host', audience = RESOURCE): string =>
  mintToken({
    sub,
    scope,
    audience,
    typ: 'care+jwt',
    key: KEYS,
    nowSeconds: Date.now() / 1_000,
    jti: crypto.randomUUID(),
  })

/** Sends a message to a process as part of a session, or without one. */
async function post(
  at: Pick<RunningProcess, 'url'>,
  message: object,
  { sessionId, token }: { readonly token: string; readonly sessionId?: string | undefined },
): Promise<Answer> {
  const answer = await fetch(`${at.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      authorization: `Bearer ${token}`,
      ...(sessionId !== undefined && { 'mcp-session-id': sessionId }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  })
  const text = await answer.text()
  return {
    status: answer.status,
    sessionId: answer.headers.get('mcp-session-id') ?? '',
    body: text === '' ? {} : (JSON.parse(text) as Answer['body']),
  }
}

/** A session as its host holds it, which may ask any process. */
export async function openClient(at: RunningProcess, scope = USER, sub = 'host') {
  let token = tokenFor(scope, sub)
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  }
  const opened = await post(at, { id: 0, method: 'initialize', params }, { token })
  if (opened.status !== 200) throw new Error(`no session was opened: ${opened.status}`)
  const { sessionId } = opened
  let lastId = 0
  const call = (method: string, requested: object = {}, to = at): Promise<Answer> => {
    lastId += 1
    return post(to, { id: lastId, method, params: requested }, { token, sessionId })
  }
  return {
    sessionId,
    call,
    notify: (method: string, requests: object, to = at) =>
      post(to, { method, params: requests }, { token, sessionId }),
    /** From now on with these scopes. */
    become: (scopes: string): void => {
      token = tokenFor(scopes, sub)
    },
    subscribe: async (uri: string, to = at): Promise<void> => {
      const { body, status } = await call('resources/subscribe', { uri }, to)
      if (body.result === undefined)
        throw new Error(`not subscribed: ${status} ${body.error?.code}`)
    },
    stream: (to = at, lastEventId?: string): Promise<EventReader> =>
      EventReader.open({ port: to.port, token, sessionId, lastEventId }),
    end: (to = at) =>
      fetch(`${to.url}/mcp`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${token}`, 'mcp-session-id': sessionId },
      }),
  }
}

/** Opens a listen at a process, of the revision without sessions. */
export const openListen = (at: RunningProcess, uri: string): Promise<EventReader> =>
  EventReader.request({
    port: at.port,
    method: 'POST',
    path: '/mcp/2026-07-28',
    headers: {
      ...modernHeaders('subscriptions/listen'),
      authorization: `Bearer ${tokenFor(USER, 'listener', MODERN_RESOURCE)}`,
    },
    body: modernBody('subscriptions/listen', { notifications: { resourceSubscriptions: [uri] } }),
  })

/** Writes a value at a process. */
export async function writeAt(
  at: Pick<RunningProcess, 'url'>,
  body: Readonly<Record<string, string>>,
): Promise<WriteAnswer> {
  const answer = await sendSignedWrite({
    baseUrl: at.url,
    serviceName: 'care',
    writeSecret: WRITE_SECRET,
    unixMs: Date.now(),
    body: { patient: 'ann', domain: 'tea', authorId: 'dr-osei', authorLabel: 'Dr Osei', ...body },
  })
  if (answer.status !== 200) throw new Error(`not written: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as WriteAnswer
}

type Topic = { readonly patient: string; readonly domain: string }

async function runCommand(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<void> {
  const errors: string[] = []
  const code = await runCare({
    arguments: [...words],
    environment: { ...testEnvironment, ...environment },
    clock: systemClock,
    stdin: (async function* () {})(),
    print: () => undefined,
    printError: (line) => errors.push(line),
  })
  if (code !== 0) throw new Error(errors.join(' '))
}

async function writeManyTo(
  store: Pick<Parameters<typeof openPostgresRecordStore>[0], 'databasePath' | 'url' | 'keys'>,
  record: Topic,
  count: number,
): Promise<void> {
  const { records } = await openPostgresRecordStore({
    ...store,
    clock: systemClock,
    checkpointSeed: Buffer.alloc(32, 7),
    origin: 'many',
    pause: (ms) => pause(systemClock, ms),
  })
  const rest = { authorId: 'x', authorLabel: 'x', audience: 'user' } as const
  await Promise.all(
    Array.from({ length: count }, (_, at) =>
      records.append({ ...record, ...rest, value: `${at}` }),
    ),
  )
  await records.close()
}

/** A database with the records' schema, and processes on it. */
export async function startCares(environment: Readonly<Record<string, string>> = {}) {
  const server: PostgresServer = startPostgres({ isOwn: true })
  const folder = mkdtempSync(join(tmpdir(), 'care-several-'))
  const database = await server.database()
  const { owner } = database
  await migratePostgresStore(POSTGRES_RECORDS, { url: owner, pause: async () => undefined })
  const started: ReturnType<typeof startServiceProcess>[] = []
  const keysPath = join(folder, 'keys')
  return {
    sql: (text: string) => runSql(owner, text),
    /** Runs a command of the operator on the store. */
    command: (...words: string[]) =>
      runCommand(words, { ...environment, DATABASE_URL: owner, CHAIN_KEYS_PATH: keysPath }),
    /** Writes many values of a record as one more process would, as many as a group takes at once. */
    writeMany: async (record: Topic, count: number): Promise<void> => {
      const { SEAL_KEYS: keyRing } = testConfig(environment)
      const keys = keyRing && (await openFileKeys(keysPath, keyRing))
      const databasePath = join(folder, 'many')
      await writeManyTo({ databasePath, url: database.as('care_app'), keys }, record, count)
    },
    start: async (over: Readonly<Record<string, string>> = {}): Promise<RunningProcess> => {
      const process = startServiceProcess([MAIN], {
        ...testEnvironment,
        HOST: '127.0.0.1',
        PORT: '0',
        LOG_LEVEL: 'info',
        DATABASE_PATH: join(folder, `care-${started.length}`),
        CHAIN_KEYS_PATH: keysPath,
        DATABASE_URL: database.as('care_app'),
        ...environment,
        ...over,
      })
      started.push(process)
      const url = await process.url()
      return { ...process, url, port: Number(new URL(url).port) }
    },
    end: async (): Promise<void> => {
      for (const process of started) {
        process.kill('SIGKILL')
        await process.ended
      }
      server.end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
