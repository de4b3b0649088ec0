/**
 * What moves between engines besides entries: picks, payments, the secret behind payer tags, and the counts made from
 * entries. Nothing is rehashed or recounted, so head, exports and truth table stay the same.
 */
import type { StoreMove } from '@tallystick/journal-store/postgres'
import { FILE_EVENTS, filedText } from './postgres-events.ts'
import { POSTGRES_LEDGER } from './postgres-schema.ts'
import { FILE_WORDS, LEDGER, RESERVATIONS } from './sqlite-database.ts'

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
    {
      from: `SELECT value FROM meta WHERE ${SECRET}`,
      into: `UPDATE grading.meta SET value = secret FROM unnest($1::text[]) AS moved (secret) WHERE ${SECRET}`,
    },
    {
      from: `SELECT id, path, sport, start_at, words, home, away FROM events ORDER BY id`,
      into: FILE_EVENTS,
      cells: ([id, path, sport, start, words, home, away]) => {
        const filed = filedText(String(sport), String(words))
        return [id, path, sport, start, words, filed, home, away].map((cell) => cell ?? null)
      },
    },
    {
      from: 'SELECT key, cell FROM truth WHERE cell IS NOT NULL',
      // A service that had the empty database open has already stored its counting rules.
      into: `INSERT INTO grading.truth (key, cell, as_of) SELECT *, 0 FROM unnest($1::text[], $2::text[])
        ON CONFLICT (key) DO UPDATE SET cell = excluded.cell`,
    },
  ],
  toSqlite: [
    {
      from: `SELECT value FROM grading.meta WHERE ${SECRET}`,
      into: "INSERT INTO meta (name, value) VALUES ('payer_secret', ?)",
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
    sqlite: `${FILE_WORDS} UPDATE truth SET as_of = (SELECT size FROM journals);`,
  },
}
