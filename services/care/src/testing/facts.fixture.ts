// A running service with one record for each fact that a reader must hear of, and everything through which it can be asked about
// them; for the table of facts and doors.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { mintToken } from '@tallystick/jwt-lite'
import { DAY_MS, type ManualClock, manualClock, startListening } from '@tallystick/service-kit'
import { expect } from 'vitest'
import { runCare } from '../command/run-care.ts'
import { readEvent } from '../domain/event-subscription.ts'
import { fhirBundle } from '../domain/fhir-bundle.ts'
import { waitingCorrection } from '../domain/unheard-corrections.ts'
import { modernBody, modernHeaders } from '../mcp/edges/modern.fixture.ts'
import { initializeBody } from '../mcp/mcp.fixture.ts'
import { shownUnheard } from '../mcp/mcp-endpoint.ts'
import { EventReader } from '../mcp/sessions/event-reader.fixture.ts'
import { type CareService, createCareService } from '../service.ts'
import { BASE_URL, joinSignature, RESOURCE, testConfig, testEnvironment } from './care.fixture.ts'
import { EVENTS_ENVIRONMENT } from './event-receiver.fixture.ts'
import { makeStorePlace } from './store-place.fixture.ts'

const START_MS = Date.UTC(2026, 10, 21, 12)
const PATIENT = 'ann'

/** Longer than the test's days. */
const LIFETIME_SECONDS = 30 * 86_400

/** The sentence that each fact is about. */
const WRITTEN = {
  superseded: 'Take one sachet.',
  withdrawn: 'Inject ten units.',
  erased: 'Sleeps on the left.',
  stale: 'Weighs 71 kg.',
  age: 'No sugar in tea.',
  language: 'Zehn Tropfen.',
} as const

export type Fact = keyof typeof WRITTEN
export const FACTS = Object.keys(WRITTEN) as Fact[]

/** What is written of its record after that. */
const SECOND: Partial<Record<Fact, object>> = {
  superseded: { value: 'Take two sachets.' },
  withdrawn: { status: 'entered-in-error' },
}
const MORE: Partial<Record<Fact, object>> = {
  stale: { staleAfter: new Date(START_MS).toISOString() },
  language: { language: 'de' },
}

/** The record of a fact, and the version that is asked for where one can be named. */
export const aboutFact = (fact: Fact) => {
  const uri = `care://${PATIENT}/${fact}-topic`
  return {
    fact,
    patient: PATIENT,
    domain: `${fact}-topic`,
    uri,
    asked: fact === 'superseded' ? `${uri}/1` : uri,
    value: WRITTEN[fact],
    slot: { patient: PATIENT, domain: `${fact}-topic`, audience: 'user' as const },
  }
}
export type About = ReturnType<typeof aboutFact>

/** Has two voices, and says what it is given: a WAV's head, then the text. */
const SPEAKING = `#!/bin/sh
if [ "$1" = --voices ]; then printf 'Pty Language\\n 5 en\\n 5 de\\n'; exit; fi
while [ "$1" != -w ]; do shift; done
{ printf 'RIFF%060d' 0; cat; } > "$2"
`

/** Everything that a card shows of a tool's answer, as text, in the order of the page. */
export function showCard(page: string, output: unknown): string {
  const shown: string[] = []
  const element = () => ({
    append: () => undefined,
    replaceChildren: () => undefined,
    set textContent(text: string) {
      shown.push(text)
    },
  })
  const document = { getElementById: element, createElement: element }
  const window = { addEventListener: () => undefined, openai: { toolOutput: output } }
  const script = /<script>(.*)<\/script>/s.exec(page)?.[1] ?? ''
  runInNewContext(script, { document, window })
  return shown.join('\n')
}

/** A program in espeak-ng's place, in a folder of its own. */
function makeSpeakingProgram(): string {
  const folder = mkdtempSync(join(tmpdir(), 'care-facts-'))
  writeFileSync(join(folder, 'espeak-ng'), SPEAKING)
  chmodSync(join(folder, 'espeak-ng'), 0o755)
  return folder
}

/** Requests of one host, in a session that it opens. */
function createHost({ app }: Pick<CareService, 'app'>, mint: (audience: string) => string) {
  const token = mint(RESOURCE)
  const bearer = { authorization: `Bearer ${token}`, host: 'care.test' }
  const json = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
  let session = ''
  let lastId = 0
  const post = async (payload: object, headers = {}) =>
    app.inject({
      method: 'POST',
      url: '/mcp',
      headers: { ...bearer, ...json, ...headers },
      payload,
    })
  return {
    /** Opens a session, also in place of one that has ended; gives its id and what the service can do. */
    open: async () => {
      const answer = await post(initializeBody())
      session = String(answer.headers['mcp-session-id'])
      const { result } = answer.json<{ readonly result: { readonly capabilities: object } }>()
      return { session, capabilities: result.capabilities }
    },
    /** A method's result; undefined if it was refused. */
    call: async <Result extends object>(
      method: string,
      params: object = {},
    ): Promise<Result | undefined> => {
      lastId += 1
      const message = { jsonrpc: '2.0', id: lastId, method, params }
      const answer = await post(message, { 'mcp-session-id': session })
      return answer.json<{ readonly result?: Result }>().result
    },
    /** The types of events that a webhook can subscribe to. */
    eventNames: async (): Promise<readonly string[]> => {
      const headers = { ...modernHeaders('events/list'), host: 'care.test' }
      const authorization = `Bearer ${mint(`${RESOURCE}/2026-07-28`)}`
      const answer = await app.inject({
        method: 'POST',
        url: '/mcp/2026-07-28',
        headers: { ...headers, authorization },
        payload: modernBody('events/list'),
      })
      if (answer.statusCode !== 200) throw new Error(answer.body)
      const { result } = answer.json<{ result: { events: readonly { readonly name: string }[] } }>()
      return result.events.map(({ name }) => name)
    },
    get: async (url: string): Promise<string> => {
      const headers = { ...bearer, accept: 'application/json' }
      const { body, statusCode } = await app.inject({ url, headers })
      if (statusCode >= 500) throw new Error(`${url}: ${statusCode} ${body}`)
      // Which names what was asked for.
      return statusCode >= 400 ? 'refused' : body
    },
  }
}

/** Writes of a clinician. */
const createWriter =
  ({ app }: Pick<CareService, 'app'>, clock: ManualClock) =>
  async ({ domain }: About, said: object): Promise<void> => {
    const timestamp = new Date(clock.unixMs()).toISOString()
    const names = { patient: PATIENT, domain, authorId: 'dr-osei', authorLabel: 'Dr Osei' }
    const payload = JSON.stringify({ ...names, ...said })
    const signature = joinSignature({ timestamp, body: payload })
    const headers = { 'x-care-signature': signature, 'x-care-timestamp': timestamp }
    const answer = await app.inject({ method: 'POST', url: '/write', headers, payload })
    if (answer.statusCode !== 200) throw new Error(answer.body)
  }

/** What goes out without a request. */
const createOutbox = ({ store }: Pick<CareService, 'store'>) => ({
  /** A FHIR bundle of a record, with its sentences in the clear. */
  fhir: async ({ slot }: About): Promise<string> => {
    const lines = () => store.exportLines({ audiences: ['user'], slot })
    let text = ''
    for await (const part of fhirBundle(lines, { baseUrl: BASE_URL, type: 'collection' }))
      text += part
    return text.replace(/"data":"([^"]*)"/g, (_, data: string) =>
      Buffer.from(data, 'base64').toString(),
    )
  },
  /** What a webhook is told of each version of a record. */
  events: async ({ domain }: About): Promise<string> => {
    const reach = [{ audience: 'user', patient: PATIENT }] as const
    const placed = await store.behind({ reach, from: 0, limit: 99, domain })
    const made = await Promise.all(placed.map((row) => readEvent(store, { row, cursor: '' })))
    return JSON.stringify(made.map((found) => found?.event))
  },
  /** What the operator's webhook is told of a record's second version, if nobody hears of it. */
  alert: async ({ slot }: About): Promise<string> => {
    const found = await store.version(slot, 2)
    if (found.kind !== 'found') return found.kind
    return JSON.stringify(shownUnheard(waitingCorrection(found.record, START_MS)))
  },
})

/** What a verb of `care` prints. */
const createCommand =
  (environment: Readonly<Record<string, string>>, clock: ManualClock) =>
  async (...verb: readonly string[]): Promise<string> => {
    const printed: string[] = []
    const print = (line: string): void => void printed.push(line)
    const stdin = (async function* () {})()
    await runCare({ arguments: verb, environment, clock, stdin, print, printError: print })
    return printed.join('\n')
  }

/** Starts it; `close` it. */
export async function startFacts() {
  const programs = makeSpeakingProgram()
  const place = await makeStorePlace({ isOnDisk: true })
  const spoken = { LANGUAGE: 'en', READ_AUDIT: 'all' }
  const variables = { ...place.environment, ...EVENTS_ENVIRONMENT, ...spoken }
  const config = testConfig(variables)
  const clock = manualClock(START_MS)
  // The program in espeak-ng's place needs the machine's own.
  const environment = { PATH: `${programs}:${process.env['PATH'] ?? ''}` }
  const service = await createCareService({ config, clock, environment, followsDatabase: false })
  const { stop, url } = await startListening(service)
  const mint = (audience: string): string =>
    mintToken({
      sub: 'host',
      scope: 'care.read.user care.write',
      audience,
      typ: 'care+jwt',
      key: config.TOKEN_SECRET,
      nowSeconds: START_MS / 1_000,
      lifetimeSeconds: LIFETIME_SECONDS,
      jti: 'facts',
    })
  const token = mint(RESOURCE)
  const { call, eventNames, get, open } = createHost(service, mint)
  const write = createWriter(service, clock)
  const care = createCommand({ ...testEnvironment, ...variables }, clock)
  const abouts = FACTS.map(aboutFact)
  for (const about of abouts) await write(about, { value: about.value, ...MORE[about.fact] })
  const { session: sessionId } = await open()
  const stream = await EventReader.open({ port: Number(new URL(url).port), token, sessionId })
  for (const { uri } of abouts) await call('resources/subscribe', { uri })
  clock.advanceMs(1_000)
  // What has no second thing to say is confirmed: each record has its notices.
  for (const about of abouts)
    await write(about, { ...MORE[about.fact], ...(SECOND[about.fact] ?? { value: about.value }) })
  await care('erase', aboutFact('erased').uri, '--by', 'it', '--reason', 'asked')
  clock.advanceMs(2 * DAY_MS)
  const { capabilities } = await open()
  return {
    call,
    capabilities,
    care,
    eventNames,
    get,
    ...createOutbox(service),
    url,
    token,
    /** Frames that the first session's stream has carried. */
    heard: () => stream.events.flatMap(({ message }) => message ?? []),
    /** Reads a record, and waits until that is noted: a row takes its time to be written, on PostgreSQL over a socket. */
    noteRead: async ({ patient, uri }: About): Promise<void> => {
      await call('resources/read', { uri })
      await clock.advanceMsSettled(2_000)
      await expect.poll(() => get(`/reads?patient=${patient}&limit=1`)).toContain(uri)
    },
    async close() {
      stream.drop()
      await stop()
      await place.remove()
      rmSync(programs, { recursive: true })
    },
  }
}

export type Facts = Awaited<ReturnType<typeof startFacts>>
