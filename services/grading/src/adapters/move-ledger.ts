/**
 * What moves between engines besides entries: picks, payments, the secret behind payer tags, and the counts made from
 * entries. Nothing is rehashed or recounted, so head, exports and truth table stay the same.
 */
import { moveImports } from '@tallystick/journal-store'
import type { StoreMove } from '@tallystick/journal-store/postgres'
import { FILE_EVENTS, filedText } from './postgres-events.ts'
import { POSTGRES_LEDGER } from './postgres-schema.ts'
import { LEDGER, RESERVATIONS } from './sqlite-database.ts'

const IMPORTS = moveImports(POSTGRES_LEDGER.schema)
const SECRET = "name = 'payer_secret'"

export const LEDGER_MOVE: StoreMove<'ledger'> = {
  sqlite: LEDGER,
  postgres: POSTGRES_LEDGER,
  tables: [
    { table: 'picks' },
    { table: 'payloads' },
    {
      table: 'reservations',
      order: 'serial',
      beside: { ending: '.payments', kind: RESERVATIONS },
    },
  ],
  toPostgres: [
    IMPORTS.toPostgres,
    {
      from: `SELECT value FROM meta WHERE ${SECRET}`,
      into: `UPDATE grading.meta SET value = secret FROM unnest($1::text[]) AS moved (secret) WHERE ${SECRET}`,
    },
    {
      from: `SELECT id, path, sport, start_at, words, home, away FROM events ORDER BY id`,
      into: FILE_EVENTS,
      cells: (row) => {
        const [, , sport, , words] = row
        return [...row.slice(0, 5), filedText(String(sport), String(words)), ...row.slice(5)]
      },
    },
    {
      from: 'SELECT key, cell FROM truth WHERE cell IS NOT NULL',
      into: 'INSERT INTO grading.truth (key, cell, as_of) SELECT *, 0 FROM unnest($1::text[], $2::text[])',
    },
  ],
  toSqlite: [
    IMPORTS.toSqlite,
    {
      from: `SELECT value FROM grading.meta WHERE ${SECRET}`,
      into: `UPDATE meta SET value = ? WHERE ${SECRET}`,
    },
    {
      from: 'SELECT id, path, sport, start_at, words, home, away FROM grading.events ORDER BY id',
      into: 'INSERT INTO events (id, path, sport, start_at, words, home, away) VALUES (?, ?, ?, ?, ?, ?, ?)',
    },
    {
      from: 'SELECT key, cell FROM grading.truth WHERE cell IS NOT NULL',
      into: 'INSERT INTO truth (key, cell, as_of) VALUES (?, ?, 0)',
    },
  ],
  last: {
    postgres: 'UPDATE grading.truth SET as_of = size FROM grading.journals',
    sqlite: `INSERT INTO event_words (rowid, words)
        SELECT id, 'sport' || replace(replace(sport, '_', ''), '-', '') || words FROM events;
      UPDATE truth SET as_of = (SELECT size FROM journals);`,
  },
}
