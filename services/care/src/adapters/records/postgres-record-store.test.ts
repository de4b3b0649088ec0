import { openPostgresProcess, PostgresDoor } from '@tallystick/journal-store/postgres'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { pause, systemClock } from '@tallystick/service-kit'
import { describe, expect, it } from 'vitest'
import { describeRecordStore } from '../../domain/record-store.contract.ts'
import { RecordStoreUnavailable } from '../../domain/record-store.ts'
import { describeSessionStore } from '../../domain/session-store.contract.ts'
import type { SessionStore } from '../../domain/session-store.ts'
import { openAuditTrail, readAuditRows } from '../rows/audit-rows.ts'
import { describeAuditTrail } from '../rows/audit-trail.contract.ts'
import { openPostgresSessionPeers } from '../rows/postgres-session-peers.ts'
import { openSessionStore } from '../rows/session-commits.ts'
import { postgresSideRows } from '../rows/side-rows.ts'
import { POSTGRES_RECORDS } from '../schemas/postgres-record-database.ts'
import {
  makeRecordDatabase,
  tamperPostgresEntry,
  useRecordServer,
} from './postgres-store.fixture.ts'
import { makeStoreFolder, testKeyRing } from './sqlite-store.fixture.ts'
import { storeRecord } from './sqlite-store-samples.fixture.ts'

const onProblem = (): void => undefined

describe.skipIf(postgresMissing !== undefined)(
  `PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    useRecordServer()
    for (const [name, keyRing] of [
      ['PostgreSQL, in the clear', undefined],
      ['PostgreSQL, sealed', testKeyRing('key-1')],
    ] as const)
      describeRecordStore(name, async (clock) => {
        const database = await makeRecordDatabase()
        const { records } = await database.open({
          clock,
          ...(keyRing === undefined ? {} : { keyRing }),
        })
        return {
          store: records,
          tamper: (slot, version, change) =>
            tamperPostgresEntry(database, { slot, version, change, keyRing }),
          end: async () => {
            await records.close()
            await database.end()
          },
        }
      })

    describeSessionStore('PostgreSQL', async () => {
      const database = await makeRecordDatabase()
      const { records, store } = await database.open()
      const opened: SessionStore[] = []
      const ended: (() => Promise<void>)[] = []
      const openSessions = async (): Promise<SessionStore> => {
        const door = new PostgresDoor({
          url: database.url,
          Unavailable: RecordStoreUnavailable,
          pause: (ms) => pause(systemClock, ms),
        })
        const process = await openPostgresProcess(door, POSTGRES_RECORDS, { onProblem })
        const peers = openPostgresSessionPeers(door, {
          process,
          clock: systemClock,
          store,
          onProblem,
        })
        const sessions = openSessionStore(postgresSideRows(store), { clock: systemClock, peers })
        opened.push(sessions)
        ended.push(() => process.close())
        return sessions
      }
      return {
        store: await openSessions(),
        reopen: openSessions,
        end: async () => {
          for (const sessions of opened) await sessions.close()
          for (const end of ended) await end()
          await records.close()
          await database.end()
        },
      }
    })

    describeAuditTrail('PostgreSQL', async () => {
      const database = await makeRecordDatabase()
      const { store } = await database.open()
      return {
        open: (options) => openAuditTrail(postgresSideRows(store), options),
        stored: (page = { limit: 1_000 }) => readAuditRows(store, page),
        breakRows: async () => void (await database.sql('DROP TABLE care.audit_rows')),
        end: async () => {
          await store.close()
          await database.end()
        },
      }
    })

    it.each([
      ['in the clear', undefined],
      ['sealed', testKeyRing('key-1')],
    ])(
      'C17: the same writes, with equal chance, %s: hashes, proofs, exports and checkpoints are byte for byte the same',
      async (_, keyRing) => {
        const over = keyRing === undefined ? {} : { keyRing }
        const [database, folder] = [await makeRecordDatabase(), makeStoreFolder()]
        const texts: string[] = []
        for (const open of [
          async (random: () => string) => (await database.open({ ...over, random })).records,
          async (random: () => string) => folder.open({ ...over, random }),
        ]) {
          let drawn = 0
          const records = await open(() => (drawn += 1).toString(16).padStart(64, '0'))
          // One after the other, so that both engines take them in one order; then what is sent again.
          for (let at = 0; at < 60; at += 1)
            await records.append(
              storeRecord({
                domain: `d${at % 7}`,
                value: `${'é\u2028"🙂'.repeat(at % 5)} ${at}`,
              }),
            )
          await records.append(storeRecord({ domain: 'plan', audience: 'assistant' }))
          const lines: string[] = []
          for await (const line of records.exportLines({ audiences: ['user', 'assistant'] }))
            lines.push(line)
          for (const audience of ['user', 'assistant'] as const)
            lines.push(
              records.journals[audience].checkpoint(),
              records.journals[audience].verifierKey,
            )
          texts.push(lines.join('\n'))
          await records.close()
        }
        await database.end()
        folder.remove()
        expect(texts[0]?.split('\n').length).toBeGreaterThan(60)
        expect(texts[0]).toBe(texts[1])
      },
    )
  },
)
