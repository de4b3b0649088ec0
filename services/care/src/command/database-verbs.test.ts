import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { systemClock } from '@tallystick/service-kit'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeRecordDatabase, useRecordServer } from '../adapters/records/postgres-store.fixture.ts'
import {
  makeStoreFolder,
  type StoreFolder,
  TEST_START_MS,
  testKeyRing,
} from '../adapters/records/sqlite-store.fixture.ts'
import { storeRecord, TEST_SEED } from '../adapters/records/sqlite-store-samples.fixture.ts'
import { RECORDS_MOVE } from '../adapters/schemas/postgres-record-database.ts'
import { chainKeysPath } from '../adapters/schemas/sqlite-record-database.ts'
import { runCare } from './run-care.ts'

const SEAL_KEYS = `key-1:${Buffer.alloc(32, '1'.charCodeAt(0)).toString('base64')}`

async function care(
  list: readonly string[],
  environment: Readonly<Record<string, string>>,
  input = '',
) {
  const [output, errors]: [string[], string[]] = [[], []]
  const code = await runCare({
    arguments: list,
    environment,
    clock: { ...systemClock, unixMs: () => TEST_START_MS },
    stdin: (async function* () {
      yield Buffer.from(input)
    })(),
    print: (line) => output.push(line),
    printError: (line) => errors.push(line),
  })
  return { code, text: output.join('\n'), errors: errors.join('\n') }
}

it('C17: a move takes every table of the records', async () => {
  const folder = makeStoreFolder()
  try {
    await (await folder.open()).close()
    const tables = folder.tinker((database) =>
      database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all(),
    )
    const moved = RECORDS_MOVE.tables.map(({ table }) => table)
    const journals = Object.values(RECORDS_MOVE.sqlite.journals).flatMap(({ table }) => [
      table,
      `${table}_nodes`,
    ])
    const all = [...moved, ...journals, 'journals', 'meta', 'seal_keys'].toSorted()
    expect(tables.map(({ name }) => name)).toEqual(all)
  } finally {
    folder.remove()
  }
})

describe.skipIf(postgresMissing !== undefined)(
  `the command on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    useRecordServer()
    let database: Awaited<ReturnType<typeof makeRecordDatabase>>
    let folder: StoreFolder
    let common: Record<string, string>
    beforeEach(async () => {
      database = await makeRecordDatabase()
      folder = makeStoreFolder()
      common = {
        CHECKPOINT_KEY: Buffer.from(TEST_SEED).toString('base64'),
        BASE_URL: 'https://care.test',
      }
    })
    afterEach(async () => {
      await database.end()
      folder.remove()
    })
    const onFile = (path = folder.databasePath) => ({ ...common, DATABASE_PATH: path })
    const onServer = (): Record<string, string> => ({
      ...common,
      DATABASE_PATH: database.databasePath,
      DATABASE_URL: database.url,
    })

    it('a database without its checkpoint key is refused, and migrate without a database', async () => {
      const bare = onServer()
      delete bare['CHECKPOINT_KEY']
      expect(await care(['export'], bare)).toMatchObject({ code: 2 })
      expect((await care(['export'], bare)).errors).toContain('CHECKPOINT_KEY')
      expect(await care(['migrate'], {})).toMatchObject({
        code: 2,
        errors: 'DATABASE_URL names no database.',
      })
      expect((await care(['migrate'], { DATABASE_URL: database.owner })).code).toBe(0)
      expect((await care(['backup', 'x'], onServer())).code).toBe(2)
    })

    it('export, verify, audit and accept-backup work beside the service', async () => {
      const { records, store } = await database.open()
      for (const value of ['one', 'two']) await records.append(storeRecord({ value }))
      const exported = await care(['export'], onServer())
      expect((await care(['verify', '-'], {}, exported.text)).code).toBe(0)
      expect((await care(['audit'], onServer())).text).toBe('There are no audit rows.')
      await store.close()
      expect((await care(['accept-backup'], onServer())).text).toContain(
        'user journal: 2 entries accepted; the last checkpoint counted 2.',
      )
      const sealed = { ...onServer(), SEAL_KEYS }
      expect(await care(['export'], sealed)).toMatchObject({ code: 2 })
      expect((await care(['export'], sealed)).errors).toContain('CHAIN_KEYS_URL')
    })

    it('C16: an export of records in the clear is imported sealed, under the same roots', async () => {
      const file = await folder.open()
      for (const value of ['one', 'two']) await file.append(storeRecord({ value }))
      await file.close()
      const path = `${folder.databasePath}.ndjson`
      await care(['export', '--output', path], onFile())
      const sealed = {
        ...onServer(),
        SEAL_KEYS,
        CHAIN_KEYS_PATH: chainKeysPath(database.databasePath),
      }
      expect(await care(['import', path], sealed)).toMatchObject({ code: 0, errors: '' })
      const exported = (await care(['export'], sealed)).text
      expect(exported).toBe(readFileSync(path, 'utf8').trimEnd())
      const { rows } = await database.sql('SELECT body FROM care.user_versions')
      expect(rows.map(({ body }: { body: Buffer }) => body[0])).toEqual([249, 249])
    })

    it('C17: a store moves to PostgreSQL and back, sealed: equal exports and checkpoints, and each goes on from there', async () => {
      const keyRing = testKeyRing('key-1')
      common['SEAL_KEYS'] = SEAL_KEYS
      // The keys stay where they are; without this variable they are looked for beside DATABASE_PATH.
      const keysPath = chainKeysPath(folder.databasePath)
      common['CHAIN_KEYS_PATH'] = keysPath
      const file = await folder.open({ keyRing })
      const request = { mac: 'ab'.repeat(32), expiresAtMs: TEST_START_MS + 300_000 }
      await file.append(storeRecord({ value: 'first' }), request)
      const values = fc.sample(fc.string({ minLength: 1, unit: 'grapheme' }), 40)
      for (const [at, value] of values.entries())
        await file.append(storeRecord({ domain: `d${at % 7}`, value }))
      await file.append(storeRecord({ domain: 'plan', audience: 'assistant', value: 'internal' }))
      await file.close()
      const before = await care(['export'], onFile())

      const both = { ...onServer(), DATABASE_PATH: folder.databasePath }
      const moved = await care(['move', 'to-postgres'], both)
      expect(moved).toMatchObject({ code: 0, errors: '' })
      expect(moved.text).toMatch(
        /^user: 41 entries moved, root [0-9a-f]{64}\.\nassistant: 1 entries/,
      )
      expect((await care(['export'], both)).text).toBe(before.text)
      expect(await care(['move', 'to-postgres'], both)).toMatchObject({
        code: 1,
        errors: 'the database is not empty',
      })

      const { records } = await database.open({ keyRing, chainKeysPath: keysPath })
      expect(await records.append(storeRecord({ value: 'other' }), request)).toMatchObject({
        kind: 'repeated',
        record: { value: 'first', version: 1 },
      })
      await records.append(storeRecord({ value: 'on PostgreSQL' }))
      await records.close()
      const between = await care(['export'], onServer())

      const again = join(folder.databasePath, '..', 'again.db')
      expect(await care(['move', 'to-file', again], onServer())).toMatchObject({
        code: 0,
        errors: '',
      })
      expect((await care(['export'], onFile(again))).text).toBe(between.text)
      expect((await care(['verify', '-'], {}, between.text)).code).toBe(0)
      expect(readFileSync(`${again}.user-checkpoint`, 'utf8').split('\n')[1]).toBe('42')
      expect(await care(['move', 'to-file', again], onServer())).toMatchObject({
        code: 1,
        errors: `${again} exists already`,
      })
    })
  },
)
