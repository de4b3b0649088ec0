import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pauseMs } from 'node:timers/promises'
import { postgresMissing, runSql } from '@tallystick/journal-store/postgres-server'
import { describe, expect, it } from 'vitest'
import { collect, TEA } from '../../domain/record-store.fixture.ts'
import {
  makeRecordDatabase,
  testServer,
  useRecordServer,
} from '../records/postgres-store.fixture.ts'
import { makeStoreFolder, testKeyRing } from '../records/sqlite-store.fixture.ts'
import { storeRecord } from '../records/sqlite-store-samples.fixture.ts'
import { chainKeysPath } from '../schemas/sqlite-record-database.ts'
import { describeChainKeys } from './chain-keys.contract.ts'
import { openChainKeysFile, openFileKeys } from './chain-keys-file.ts'
import { openChainKeysDatabase } from './chain-keys-postgres.ts'

const keyRing = testKeyRing('key-1')

/** What lies in a folder and below. */
const bytesIn = (folder: string): Buffer =>
  Buffer.concat(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((path) => statSync(path).isFile())
      .map((path) => readFileSync(path)),
  )

describeChainKeys('a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'care-keys-file-'))
  const path = join(folder, 'keys')
  return {
    open: async () => openChainKeysFile(path),
    failCommits: async (isFailing) => {
      const database = new DatabaseSync(path)
      // A deferred constraint is checked by the COMMIT.
      database.exec(
        isFailing
          ? `CREATE TABLE nowhere (id INTEGER PRIMARY KEY);
             CREATE TABLE full (id INTEGER REFERENCES nowhere DEFERRABLE INITIALLY DEFERRED);
             CREATE TRIGGER fail AFTER INSERT ON chain_keys BEGIN INSERT INTO full VALUES (1); END`
          : 'DROP TRIGGER fail; DROP TABLE full; DROP TABLE nowhere',
      )
      database.close()
    },
    bytes: async () => bytesIn(folder),
    end: async () => rmSync(folder, { recursive: true, force: true }),
  }
})

const pause = (ms: number): Promise<void> => pauseMs(ms, undefined, { ref: false })

describe.skipIf(postgresMissing !== undefined)(
  `on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    useRecordServer()

    describeChainKeys('PostgreSQL', async () => {
      const database = await testServer().database()
      const { owner } = database
      const failing = `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE EXCEPTION 'the disk is full'; END $$;
        CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON care_keys.chain_keys
          DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()`
      return {
        open: () => openChainKeysDatabase({ url: owner, pause }),
        failCommits: async (isFailing) =>
          void (await runSql(owner, isFailing ? failing : 'DROP FUNCTION fail CASCADE')),
        bytes: async () => {
          await runSql(owner, 'CHECKPOINT')
          const { socketFolder } = testServer()
          // Another's server shows no files.
          if (socketFolder === undefined) return Buffer.of()
          const { rows } = await runSql(
            owner,
            'SELECT oid FROM pg_database WHERE datname = current_database()',
          )
          const { oid } = rows[0] as { readonly oid: number }
          return bytesIn(join(socketFolder, 'data', 'base', String(oid)))
        },
        end: () => database.drop(),
      }
    })

    it('C43: a database of records takes no keys: its backups would hold them', async () => {
      const database = await makeRecordDatabase()
      try {
        await expect(openChainKeysDatabase({ url: database.owner, pause })).rejects.toThrow(
          /CHAIN_KEYS_URL names a database of records/,
        )
      } finally {
        await database.end()
      }
    })
  },
)

it('C32: an export and a replay, which pass every chain, keep no key of theirs in the place of those in use', async () => {
  const folder = makeStoreFolder()
  try {
    const written = await openFileKeys(chainKeysPath(folder.databasePath), keyRing)
    const store = await folder.open({ keys: written })
    await store.append(storeRecord())
    await store.close()
    let unwrapped = 0
    const key = (id: string) => {
      unwrapped += 1
      return keyRing.key(id)
    }
    const keys = await openFileKeys(chainKeysPath(folder.databasePath), { ...keyRing, key })
    const again = await folder.open({ keys })
    const count = async (run: () => AsyncIterable<unknown>) => {
      const before = unwrapped
      await collect(run())
      return unwrapped - before
    }
    const audiences = ['user'] as const
    for (const run of [() => again.exportLines({ audiences }), () => again.verify({ audiences })])
      expect([await count(run), await count(run)]).toEqual([1, 1])
    await again.latest(TEA)
    expect(await count(() => again.exportLines({ audiences }))).toBe(0)
    await again.close()
  } finally {
    folder.remove()
  }
})
