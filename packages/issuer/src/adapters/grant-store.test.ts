import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findColumnDifferences } from '@tallystick/journal-store/column-differences'
import {
  type PostgresServer,
  postgresMissing,
  startPostgres,
} from '@tallystick/journal-store/postgres-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testGrantStore } from './grant-store.contract.ts'
import { GRANTS_SCHEMA, openPostgresGrants } from './postgres-grants.ts'
import { openSqliteGrants, readGrantsSchema } from './sqlite-grants.ts'

const PAUSE = { pause: (ms: number) => new Promise<void>((done) => void setTimeout(done, ms)) }

const folder = await mkdtemp(join(tmpdir(), 'tallystick-grants-'))
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0
testGrantStore('SQLite', async () => {
  files += 1
  const path = join(folder, `${files}.db`)
  return { database: openSqliteGrants(path), again: async () => openSqliteGrants(path) }
})

const skipped = postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`

describe.skipIf(postgresMissing !== undefined)(`on PostgreSQL${skipped}`, () => {
  let server: PostgresServer
  beforeAll(() => {
    server = startPostgres()
  })
  afterAll(() => server.end())

  testGrantStore('PostgreSQL', async () => {
    const { owner: url } = await server.database()
    const open = () => openPostgresGrants({ ...PAUSE, url })
    return { database: await open(), again: open }
  })

  it('C27: processes that start together make one schema and one signing key', async () => {
    const { owner: url } = await server.database()
    const opened = await Promise.all([1, 2, 3].map(() => openPostgresGrants({ ...PAUSE, url })))
    const keys = await Promise.all(opened.map((each) => each.read('SELECT kid FROM signing_keys')))
    expect(keys.map((rows) => rows.length)).toEqual([1, 1, 1])
    await Promise.all(opened.map((each) => each.close()))
  })

  it('both engines hold the same columns; keys are in a file beside SQLite', async () => {
    const { owner } = await server.database()
    await (await openPostgresGrants({ ...PAUSE, url: owner })).close()
    const sqlite = { migrations: [readGrantsSchema()] }
    expect(
      await findColumnDifferences({ files: [sqlite], ownerUrl: owner, schema: GRANTS_SCHEMA }),
    ).toEqual(['cookie_keys: PostgreSQL alone', 'signing_keys: PostgreSQL alone'])
  })
})
