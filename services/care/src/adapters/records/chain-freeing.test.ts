// Freeing topics on files and databases, beside a running store (C47).

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { pause, Secret, systemClock } from '@tallystick/service-kit'
import { describe, expect, it } from 'vitest'
import { describeFreeing } from '../../domain/freeing.contract.ts'
import { collect, intactVersions } from '../../domain/record-store.fixture.ts'
import type { RecordStore } from '../../domain/record-store.ts'
import { verifyExport } from '../../domain/verify-export.ts'
import { AUDIENCES } from '../../wire/audience.ts'
import { eraseChain, freeChain } from '../open-stores.ts'
import {
  makeRecordDatabase,
  tamperPostgresEntry,
  useRecordServer,
} from './postgres-store.fixture.ts'
import { makeStoreFolder, tamperEntry, testKeyRing } from './sqlite-store.fixture.ts'

const keyRing = testKeyRing('key-1')
const by = { at: '2026-06-02T09:00:00.000Z', actor: 'dr-osei', reason: 'planted' }
const TOPIC = { patient: 'ann', domain: 'topic-0', audience: 'assistant' } as const

const WRITER = fileURLToPath(new URL('./store-process.fixture.ts', import.meta.url))
const COMMAND = fileURLToPath(new URL('../../command/main.ts', import.meta.url))
const KILLS = process.env['TALLYSTICK_LONG'] === '1' ? 30 : 3
/** The command starts, frees and ends within about this, milliseconds. */
const COMMAND_MS = 800

const HARMLESS = Array.from({ length: KILLS }, () => ({
  outcome: expect.objectContaining({ kind: 'freed' }),
  isKept: true,
  isIntact: true,
  isCounted: true,
}))

type KilledStore = {
  /** Of the process that writes. */
  readonly words: readonly string[]
  /** Of the command. */
  readonly environment: Record<string, string>
  readonly free: () => Promise<unknown>
  readonly open: () => Promise<RecordStore>
}

/** One process writes to a topic without end, another frees it; both are killed at random moments. */
async function findAfterKills({ environment, free, open, words }: KilledStore) {
  const found: object[] = []
  const chain = 'care-internal://ann/topic-0'
  let acknowledged = 0
  for (let round = 1; round <= KILLS; round += 1) {
    const writer = spawn(process.execPath, [WRITER, ...words], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let printed = ''
    writer.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString()
    })
    const lines = () => printed.split('\n').slice(1, -1)
    const writesOn = async () => {
      const before = lines().length
      while (lines().length < before + 10) await once(writer.stdout, 'data')
    }
    await writesOn()
    const command = spawn(
      process.execPath,
      [COMMAND, 'free', chain, '--by', 'a', '--reason', 'b'],
      {
        stdio: 'ignore',
        env: { ...process.env, ...environment },
      },
    )
    const ended = once(command, 'close')
    await Promise.race([ended, pause(systemClock, Math.random() * COMMAND_MS)])
    command.kill('SIGKILL')
    await ended
    await writesOn()
    const outcome = await free()
    await writesOn()
    writer.kill('SIGKILL')
    await once(writer, 'close')
    acknowledged += lines().length
    const store = await open()
    const isKept = (await intactVersions(store)) >= acknowledged
    const { isIntact } = await verifyExport(store.exportLines({ audiences: AUDIENCES }))
    const chains = await collect(store.verify({ audiences: ['assistant'] }))
    const freed = chains.flatMap(({ slot }) => slot.freed ?? [])
    const isCounted = freed.length >= round && freed.every((number, at) => number === at + 1)
    found.push({ outcome, isKept, isIntact, isCounted })
    await store.close()
  }
  return found
}

describeFreeing('SQLite', async (clock) => {
  const folder = makeStoreFolder(clock)
  const store = await folder.open({ keyRing })
  const place = { DATABASE_PATH: folder.databasePath }
  return {
    store,
    tamper: (slot, version, change) => tamperEntry({ folder, slot, version, change, keyRing }),
    free: (slot) => freeChain(place, { slot, by }),
    erase: (slot) => eraseChain(place, { slot, by }, keyRing),
    end: async () => {
      await store.close()
      folder.remove()
    },
  }
})

it(`C47: kill -9 of the command and of the service, ${KILLS} times: a topic is closed or free, and every chain holds`, async () => {
  const folder = makeStoreFolder()
  const { databasePath } = folder
  const found = await findAfterKills({
    words: [databasePath, '2'],
    environment: { DATABASE_PATH: databasePath },
    free: () => freeChain({ DATABASE_PATH: databasePath }, { slot: TOPIC, by }),
    open: async () => folder.open(),
  })
  expect(found).toEqual(HARMLESS)
  folder.remove()
})

describe.skipIf(postgresMissing !== undefined)(
  `on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    useRecordServer()
    describeFreeing('PostgreSQL', async (clock) => {
      const database = await makeRecordDatabase()
      const { records } = await database.open({ clock, keyRing })
      const place = {
        DATABASE_PATH: database.databasePath,
        DATABASE_URL: new Secret(database.url),
      }
      return {
        store: records,
        tamper: (slot, version, change) =>
          tamperPostgresEntry(database, { slot, version, change, keyRing }),
        free: (slot) => freeChain(place, { slot, by }),
        erase: (slot) => eraseChain(place, { slot, by }, keyRing),
        end: async () => {
          await records.close()
          await database.end()
        },
      }
    })

    it(`C47: kill -9 of the command and of the service, ${KILLS} times: a topic is closed or free, and every chain holds`, async () => {
      const database = await makeRecordDatabase()
      const { databasePath } = database
      const DATABASE_URL = database.url
      const place = { DATABASE_PATH: databasePath, DATABASE_URL: new Secret(DATABASE_URL) }
      const found = await findAfterKills({
        words: [databasePath, '2', 'endless', database.url],
        environment: { DATABASE_PATH: databasePath, DATABASE_URL },
        free: () => freeChain(place, { slot: TOPIC, by }),
        open: async () => (await database.open()).records,
      })
      expect(found).toEqual(HARMLESS)
      await database.end()
    })
  },
)
