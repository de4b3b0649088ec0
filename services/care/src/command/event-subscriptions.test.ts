// `care events` (C22): what an operator sees of subscriptions, by the real command over a real store of each engine, beside records
// that are open.

import { OWN_LEASE } from '@tallystick/journal-store'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { Secret, systemClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { withSideRows } from '../adapters/open-stores.ts'
import { makeRecordDatabase, useRecordServer } from '../adapters/records/postgres-store.fixture.ts'
import {
  makeStoreFolder,
  TEST_START_MS,
  testKeyRing,
} from '../adapters/records/sqlite-store.fixture.ts'
import { storeRecord } from '../adapters/records/sqlite-store-samples.fixture.ts'
import { openEventSubscriptions } from '../adapters/rows/event-subscriptions.ts'
import { chainKeysPath } from '../adapters/schemas/sqlite-record-database.ts'
import type { EventSubscription, EventSubscriptions } from '../domain/event-subscription.ts'
import type { RecordStore } from '../domain/record-store.ts'
import { runCare } from './run-care.ts'

const RING = testKeyRing('key-1')
const URL_SECRET = 'https://receiver.example/secret-path'
const SUBSCRIPTION: EventSubscription = {
  id: 'sub_1',
  refresh: 'r1',
  sub: 'host',
  scopes: ['care.read.user'],
  jti: 'jti-1',
  patient: 'ann',
  receiver: { url: URL_SECRET, secrets: [{ secret: 'whsec_hidden' }] },
  cursor: 0,
  expiresAtMs: TEST_START_MS + 3_600_000,
  isActive: true,
}

type Place = {
  /** The store's variables, of the service and of who may erase. */
  readonly environment: Readonly<Record<string, string>>
  readonly erasing: Readonly<Record<string, string>>
  readonly store: RecordStore
  end(): Promise<void>
}

async function filePlace(): Promise<Place> {
  const folder = makeStoreFolder()
  const store = await folder.open({ keyRing: RING })
  const environment = { DATABASE_PATH: folder.databasePath }
  const end = () => store.close().then(() => folder.remove())
  return { environment, erasing: environment, store, end }
}

async function serverPlace(): Promise<Place> {
  const database = await makeRecordDatabase()
  const { records: store } = await database.open({ keyRing: RING })
  const { databasePath: DATABASE_PATH, url: DATABASE_URL } = database
  const CHAIN_KEYS_PATH = chainKeysPath(DATABASE_PATH)
  return {
    environment: { DATABASE_PATH, DATABASE_URL, CHAIN_KEYS_PATH },
    erasing: { DATABASE_PATH, DATABASE_URL, CHAIN_KEYS_PATH },
    store,
    end: () => store.close().then(() => database.end()),
  }
}

function describeList(engine: string, open: () => Promise<Place>): void {
  describe(`C22: care events on ${engine}`, () => {
    let place: Place
    beforeEach(async () => {
      place = await open()
    })
    afterEach(() => place.end())

    async function care(list: readonly string[], environment = place.environment) {
      const [output, errors]: [string[], string[]] = [[], []]
      const code = await runCare({
        arguments: list,
        environment,
        clock: { ...systemClock, unixMs: () => TEST_START_MS },
        stdin: (async function* () {})(),
        print: (line) => output.push(line),
        printError: (line) => errors.push(line),
      })
      expect({ code, errors }).toEqual({ code: 0, errors: [] })
      return output
    }
    const stored = <Result>(use: (subscriptions: EventSubscriptions) => Promise<Result>) => {
      const { DATABASE_PATH = '', DATABASE_URL } = place.environment
      const named = DATABASE_URL === undefined ? undefined : new Secret(DATABASE_URL)
      return withSideRows({ DATABASE_PATH, DATABASE_URL: named }, (rows) =>
        use(openEventSubscriptions(rows, RING, OWN_LEASE)),
      )
    }
    const save = (over: Partial<EventSubscription> = {}) =>
      stored((subscriptions) => subscriptions.save({ ...SUBSCRIPTION, ...over }))

    it('says that nobody is told, in words only', async () => {
      expect(await care(['events'])).toEqual(['Nobody is told of corrections by webhook.'])
      expect(await care(['events', '--json'])).toEqual([])
    })

    it('tells who is told of what, what fails since when, and what is suspended', async () => {
      const failedSinceMs = TEST_START_MS - 60_000
      await save()
      await save({ id: 'sub_2', domain: 'tea', lastError: 'http_5xx', failedSinceMs })
      const isActive = false
      await save({ id: 'sub_3', sub: 'other', isActive, lastError: 'timeout', failedSinceMs })
      const until = 'until 2026-06-01T09:00:00.000Z'
      const since = 'since 2026-06-01T07:59:00.000Z'
      expect(await care(['events'])).toEqual([
        `active     ${until}  sub_1  host  ann/*`,
        `failing    ${until}  sub_2  host  ann/tea  ${since}: http_5xx`,
        `suspended  ${until}  sub_3  other  ann/*  ${since}: timeout`,
      ])
      const rows = (await care(['events', '--json'])).map((line) => JSON.parse(line))
      expect(rows).toHaveLength(3)
      expect(rows[2]).toEqual({
        id: 'sub_3',
        sub: 'other',
        patient: 'ann',
        isActive: false,
        expiresAt: '2026-06-01T09:00:00.000Z',
        failedSince: '2026-06-01T07:59:00.000Z',
        lastError: 'timeout',
      })
    })

    it('shows neither address nor secret, and a name that would move the cursor as text', async () => {
      await save({ sub: 'host\u001b[2J' })
      for (const list of [['events'], ['events', '--json']]) {
        const said = (await care(list)).join('\n')
        expect(said).toContain('sub_1')
        for (const hidden of ['receiver.example', 'whsec', '\u001b'])
          expect(said).not.toContain(hidden)
      }
    })

    it('a subscription outlives the erasure of what it is about, and is gone once it was ended', async () => {
      await place.store.append(storeRecord({ value: 'erased sentence' }))
      await save({ domain: 'tea' })
      const SEAL_KEYS = `key-1:${Buffer.alloc(32, '1').toString('base64')}`
      const why = ['--by', 'dr-osei', '--reason', 'asked to']
      const erased = await care(['erase', 'care://ann/tea', ...why], {
        ...place.erasing,
        SEAL_KEYS,
      })
      expect(erased[0]).toContain('are gone for good')
      const said = await care(['events', '--json'])
      expect(said.map((line) => JSON.parse(line))).toMatchObject([{ id: 'sub_1', domain: 'tea' }])
      expect(said.join('\n')).not.toContain('sentence')
      await stored((subscriptions) => subscriptions.remove({ id: 'sub_1' }))
      expect(await care(['events'])).toEqual(['Nobody is told of corrections by webhook.'])
    })
  })
}

describeList('SQLite', filePlace)

describe.skipIf(postgresMissing !== undefined)(
  `on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    useRecordServer()
    describeList('PostgreSQL', serverPlace)
  },
)
