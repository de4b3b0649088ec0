/** Grants in a file. Only its owner may read it, like the keys beside it: a reader can act as anybody until the tokens in it expire. */
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { readSchema } from '@tallystick/journal-store'
import {
  type GrantDatabase,
  type GrantRow,
  GrantStoreUnavailable,
  type GrantValue,
} from './grant-database.ts'

export const readGrantsSchema = (): string =>
  readSchema(new URL('./sqlite-grants.schema.sql', import.meta.url), GrantStoreUnavailable)

function openFile(path: string): DatabaseSync {
  const schema = readGrantsSchema()
  try {
    if (path !== ':memory:') {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      // SQLite gives the files beside it its mode.
      closeSync(openSync(path, 'a', 0o600))
    }
    const database = new DatabaseSync(path)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    database.exec(schema)
    return database
  } catch (cause) {
    throw new GrantStoreUnavailable(`${path} cannot be opened`, { cause })
  }
}

/** Throws `GrantStoreUnavailable`. */
export function openSqliteGrants(path: string): GrantDatabase {
  const database = openFile(path)
  const ask = async (sql: string, values: readonly GrantValue[] = []) => {
    try {
      const named = Object.fromEntries(values.map((value, at) => [`$${at + 1}`, value]))
      return database.prepare(sql).all(named) as readonly GrantRow[]
    } catch (cause) {
      throw new GrantStoreUnavailable('the grant store cannot be used', { cause })
    }
  }
  return { read: ask, write: ask, close: async () => database.close() }
}
