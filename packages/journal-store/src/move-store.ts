/**
 * Moves a store from one engine to the other, all of it or nothing. The service's own rows are copied; entries are appended
 * again in order, with their stored leaf hashes. Both sides must arrive at the same heads. The target is an empty database,
 * filled in one transaction, or a new file, which gets its name only when it is whole.
 */
import { existsSync, renameSync, rmSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { createCompactRange, type KeyRing, type TreeHead } from '@tallystick/hashchain'
import type { StoreOwner } from './checkpoint-file.ts'
import { eachJournalInTurn, growFrom, headOfRow } from './journal.ts'
import {
  type Cells,
  type FileBeside,
  fetched,
  readPages,
  readRows,
  type StoreMove,
  toSqlite,
} from './moved-rows.ts'
import { appendStatement } from './postgres-commit.ts'
import { PostgresConnection, type PostgresQuery } from './postgres-connection.ts'
import { PostgresDoor, type PostgresOptions } from './postgres-door.ts'
import { UPKEEP_ANSWER_MS } from './postgres-line.ts'
import { requireNobody } from './postgres-process.ts'
import { openPostgresStoreReader } from './postgres-store.ts'
import { bodyOfBytes } from './seal-keys.ts'
import { createGuards } from './sqlite-connection.ts'
import { openSqliteFile } from './sqlite-database.ts'
import type { SqliteKind } from './sqlite-journals.ts'
import { openSqliteStore, type SqliteStore } from './sqlite-store.ts'

type MoveOptions = {
  /** Whose checkpoints; those of the database are at its path. */
  readonly owner: StoreOwner
  readonly filePath: string
  readonly server: Omit<PostgresOptions, 'Unavailable'>
  readonly keyRing?: KeyRing | undefined
}

type MovedHeads<Name extends string> = Readonly<Record<Name, TreeHead>>

/** Entries that are moved need nothing of the rows before them. */
const NO_MEMORY = { read: () => undefined, save: () => [] }

/** The files of the SQLite store in a move, and how to close them. */
async function openFiles<Name extends string>(
  move: StoreMove<Name>,
  { keyRing, owner }: Pick<MoveOptions, 'keyRing' | 'owner'>,
) {
  const store = await openSqliteStore<Name, undefined, never>(move.sqlite, {
    ...owner,
    keyRing,
    memory: NO_MEMORY,
  })
  const besides = new Map<string, DatabaseSync>()
  return {
    store,
    findFile: (beside: FileBeside | undefined): DatabaseSync => {
      if (beside === undefined) return store.database
      const { ending, kind } = beside
      const opened = besides.get(ending) ?? openSqliteFile(owner.databasePath + ending, kind)
      besides.set(ending, opened)
      return opened
    },
    close: async (): Promise<void> => {
      for (const file of besides.values()) file.close()
      await store.close()
    },
  }
}

/** Runs a move in a transaction, while no other process serves the database. */
async function inMove<Name extends string, Result>(
  { postgres: { schema, Unavailable } }: StoreMove<Name>,
  { owner: { databasePath }, server }: MoveOptions,
  run: (query: PostgresQuery) => Promise<Result>,
): Promise<Result> {
  const door = new PostgresDoor({
    answerMs: UPKEEP_ANSWER_MS,
    ...server,
    databasePath,
    Unavailable,
  })
  const connection = new PostgresConnection(door, {})
  try {
    return await connection.transaction(async (query) => {
      await query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
      // Reading or writing a file may take long.
      await query('SET LOCAL idle_in_transaction_session_timeout = 0')
      await requireNobody(query, schema)
      return await createGuards(Unavailable).guarded(run)(query)
    })
  } finally {
    await connection.end()
  }
}

const asItIs = (row: Cells): Cells => row

type Moving<Name extends string> = {
  readonly query: PostgresQuery
  readonly store: SqliteStore<Name, undefined, never>
}

async function appendToPostgres<Name extends string>(
  { postgres, sqlite }: StoreMove<Name>,
  name: Name,
  { query, store }: Moving<Name>,
): Promise<TreeHead> {
  const { columns, noun, table } = sqlite.journals[name]
  const sql = `SELECT ${['at', 'leaf_hash', ...columns].join(', ')} FROM ${table} ORDER BY at`
  let range = createCompactRange()
  for (const page of readPages(store.database, sql)) {
    const journal = growFrom(range)
    for (const [at, leaf, ...cells] of page) {
      if (at !== journal.range.size)
        throw new sqlite.Unavailable(`${noun} has gaps: entry ${journal.range.size} is gone`)
      journal.append(leaf as Uint8Array, cells)
    }
    await query(...appendStatement(postgres.schema, postgres.journals[name], journal))
    range = journal.range
  }
  return sameHead(range, store.journals[name], sqlite)
}

async function appendToSqlite<Name extends string>(
  { postgres, sqlite }: StoreMove<Name>,
  name: Name,
  { query, store }: Moving<Name>,
): Promise<TreeHead> {
  const { columns, table } = postgres.journals[name]
  const sql = `SELECT leaf_hash, ${columns.map((column) => column.name).join(', ')} FROM ${postgres.schema}.${table} ORDER BY at`
  for await (const page of fetched(query, sql))
    await store.write(({ append }) => {
      for (const [leaf, ...cells] of page)
        append(
          name,
          leaf as Uint8Array,
          cells.map((cell, column) =>
            columns[column]?.type === 'bytea' && cell instanceof Uint8Array
              ? bodyOfBytes(cell)
              : cell,
          ),
        )
    })
  const found = await query<{ readonly size: number; readonly peaks: Uint8Array }>(
    `SELECT size, peaks FROM ${postgres.schema}.journals WHERE name = $1`,
    [name],
  )
  const head = found.map(({ peaks, size }) => headOfRow(size, peaks))[0]
  return sameHead(store.journals[name], head, sqlite)
}

type Head = { readonly size: number; rootHash(): Uint8Array }

function sameHead(
  moved: Head,
  source: Head | undefined,
  { Unavailable }: Pick<SqliteKind<string>, 'Unavailable'>,
): TreeHead {
  const head = { size: moved.size, rootHash: moved.rootHash() }
  if (head.size !== source?.size || Buffer.compare(head.rootHash, source.rootHash()) !== 0)
    throw new Unavailable('the entries do not come to the head, or were written meanwhile')
  return head
}

/**
 * Copies a file's content into an empty, migrated database while no service runs. If it rejects, with the service's error,
 * nothing has changed.
 */
export async function moveToPostgres<Name extends string>(
  move: StoreMove<Name>,
  options: MoveOptions,
): Promise<MovedHeads<Name>> {
  const { filePath, keyRing, owner, server } = options
  const { Unavailable, schema } = move.postgres
  // Refuses a schema that is not this program's.
  const unchecked = { ...server, ...owner, keyRing, checkpoint: 'unchecked' } as const
  await (await openPostgresStoreReader(move.postgres, unchecked)).close()
  const files = await openFiles(move, { keyRing, owner: { ...owner, databasePath: filePath } })
  const { findFile, store } = files
  try {
    return await inMove(move, options, async (query) => {
      const rows = await readRows(move, { query, findFile, direction: 'toPostgres' })
      const targets = move.tables.map(({ table }) => `SELECT FROM ${schema}.${table}`)
      const heads = await query<{ readonly size: number }>(
        `SELECT size FROM ${schema}.take_heads()`,
      )
      const inUse =
        targets.length === 0 ? [] : await query(`${targets.join(' UNION ALL ')} LIMIT 1`)
      if (inUse.length > 0 || heads.some(({ size }) => size > 0))
        throw new Unavailable('the database is not empty')
      await store.catchUp()
      store.database.exec('BEGIN')
      try {
        for (const { beside, cells = asItIs, from, into } of rows)
          for (const page of readPages(findFile(beside), from)) {
            const copied = page.map(cells)
            await query(
              into,
              (copied[0] ?? []).map((_, at) => copied.map((row) => row[at])),
            )
          }
        const moved = await eachJournalInTurn(move.sqlite, (_, name) =>
          appendToPostgres(move, name, { query, store }),
        )
        if (move.last !== undefined) await query(move.last.postgres)
        return moved
      } finally {
        store.database.exec('ROLLBACK')
      }
    })
  } finally {
    await files.close()
  }
}

/**
 * Copies a database's content into a new file while no service runs. Rejects with the service's error; the file exists only
 * when it is whole.
 */
export async function moveToSqlite<Name extends string>(
  move: StoreMove<Name>,
  options: MoveOptions,
): Promise<MovedHeads<Name>> {
  const { filePath, keyRing, owner, server } = options
  const besides = move.tables.flatMap(({ beside }) => (beside === undefined ? [] : beside.ending))
  const { Unavailable } = move.postgres
  for (const path of [filePath, ...besides.map((ending) => filePath + ending)])
    if (existsSync(path)) throw new Unavailable(`${path} exists already`)
  // Refuses another schema, missing keys, and a store that does not continue from its last checkpoint.
  const reader = { ...server, ...owner, keyRing }
  await (await openPostgresStoreReader(move.postgres, reader)).close()
  const databasePath = `${filePath}.moving`
  const signed = Object.values<{ fileEnding: string }>(move.sqlite.journals)
  // The database itself comes last: without it there is no store.
  const endings = [...signed.map(({ fileEnding }) => fileEnding), ...besides, '']
  const clear = (): void => {
    for (const ending of [...endings, '.lock'])
      for (const end of ['', '-wal', '-shm']) rmSync(databasePath + ending + end, { force: true })
  }
  try {
    const moved = await inMove(move, options, async (query) => {
      clear()
      const files = await openFiles(move, { keyRing, owner: { ...owner, databasePath } })
      try {
        return await fillFiles(move, { files, query })
      } finally {
        await files.close()
      }
    })
    // An empty journal has signed nothing.
    for (const ending of endings.filter((each) => existsSync(databasePath + each)))
      renameSync(databasePath + ending, filePath + ending)
    return moved
  } finally {
    clear()
  }
}

async function fillFiles<Name extends string>(
  move: StoreMove<Name>,
  {
    files,
    query,
  }: {
    readonly files: Awaited<ReturnType<typeof openFiles<Name>>>
    readonly query: PostgresQuery
  },
): Promise<MovedHeads<Name>> {
  const { findFile: findFileFor, store } = files
  const rows = await readRows(move, { query, findFile: findFileFor, direction: 'toSqlite' })
  for (const { beside, cells = asItIs, from, into } of rows) {
    const file = findFileFor(beside)
    const insert = file.prepare(into)
    for await (const page of fetched(query, from)) {
      file.exec('BEGIN IMMEDIATE')
      for (const row of page) insert.run(...cells(row).map(toSqlite))
      file.exec('COMMIT')
    }
  }
  const moved = await eachJournalInTurn(move.sqlite, (_, name) =>
    appendToSqlite(move, name, { query, store }),
  )
  if (move.last !== undefined) store.database.exec(move.last.sqlite)
  return moved
}
