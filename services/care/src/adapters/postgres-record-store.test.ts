import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { describe } from 'vitest'
import { describeRecordStore } from '../domain/record-store.contract.ts'
import { describeSessionStore } from '../domain/session-store.contract.ts'
import { openPostgresSessionStore } from './postgres-session-store.ts'
import {
  makeRecordDatabase,
  tamperPostgresEntry,
  useRecordServer,
} from './postgres-store.fixture.ts'
import { testKeyRing } from './sqlite-store.fixture.ts'

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
            tamperPostgresEntry(database.owner, { slot, version, change, keyRing }),
          end: async () => {
            await records.close()
            await database.end()
          },
        }
      })

    describeSessionStore('PostgreSQL', async () => {
      const database = await makeRecordDatabase()
      const { records, store } = await database.open()
      return {
        store: openPostgresSessionStore({ store }),
        reopen: async () => openPostgresSessionStore({ store }),
        end: async () => {
          await records.close()
          await database.end()
        },
      }
    })
  },
)
