/**
 * Describes one kind of store on PostgreSQL, and its schema: numbered SQL under an advisory lock. Three things keep journals
 * append-only: the service's role may run functions and change no row; triggers stop the owner too; and the signed checkpoint
 * exposes anyone who drops the triggers.
 */

import { FORGOTTEN_MS } from './lease.ts'
import { PostgresDoor, type PostgresOptions } from './postgres-door.ts'
import { type PostgresLine, sqlCode, UPKEEP_ANSWER_MS } from './postgres-line.ts'
import { readSchema } from './read-schema.ts'
import type { Rows } from './store.ts'
import type { JournalTable, StoreKind } from './store-kind.ts'
import { errorMessage } from './unavailable.ts'

/**
 * A journal's table: `at bigint` from 0, `leaf_hash bytea`, and the columns of its cells. Beside it is `<table>_nodes (place, hash)`,
 * and migrating makes the function `append_<table>(size, peaks, nodes, leaves, …cells)`, whose cells are arrays in the order of these
 * columns.
 */
export type PostgresJournalTable = JournalTable & {
  /** Text that is hashed is kept as bytes: no collation touches it, and it may hold a NUL. */
  readonly columns: readonly {
    readonly name: string
    readonly type: 'bytea' | 'bigint' | 'text'
  }[]
}

/** `migrate` does one of these to a schema. */
export type SchemaPart = 'expand' | 'contract'

/**
 * A step from one release to the next. What it adds must not disturb the release before, whose processes go on beside it; what
 * they need and the new ones do not is removed by `contract`, once none of them runs.
 */
type SchemaStep = string | { readonly expand: string; readonly contract: string }

export type PostgresStoreKind<Name extends string> = StoreKind<Name, PostgresJournalTable> & {
  readonly schema: string
  /** Role of the service: it reads, and appends by function. */
  readonly appRole: string
  /**
   * The store's own schema, behind `postgres-journals.schema.sql`: its tables, its journals and their heads, and the
   * rights of the service's role besides reading; then one step for each release that changes it. No name has a schema.
   */
  readonly migrations: readonly SchemaStep[]
}

/** Roles belong to the whole server: another database's migration may make them at the same time. */
const roleSql = (role: string): string => `
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${role}') THEN CREATE ROLE ${role} LOGIN; END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;`

const rightsSql = ({ appRole, schema }: PostgresStoreKind<string>): string => `
REVOKE ALL ON SCHEMA ${schema} FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ${schema} FROM PUBLIC;
GRANT USAGE ON SCHEMA ${schema} TO ${appRole};
GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${appRole};
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${schema} TO ${appRole};`

/**
 * Adds rows to one journal and moves its head on. It runs with its owner's rights, so that the service's role appends to a
 * journal and changes no row of it. Where a step gives the journal another column, the function without it stays for processes
 * of the release before, until the schema is contracted.
 */
function appendSql(journal: string, { columns, table }: PostgresJournalTable): string {
  const names = columns.map(({ name }) => name)
  const parameters = columns.map(({ name, type }) => `new_${name} ${type}[]`)
  return `
CREATE OR REPLACE FUNCTION append_${table}(
  expected_size bigint, new_peaks bytea, node_hashes bytea[], leaf_hashes bytea[], ${parameters.join(', ')}
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM grow_journal('${journal}', expected_size, cardinality(leaf_hashes), new_peaks);
  INSERT INTO ${table} (at, leaf_hash, ${names.join(', ')})
    SELECT expected_size + n - 1, leaf, ${names.join(', ')}
      FROM unnest(leaf_hashes, ${names.map((name) => `new_${name}`).join(', ')})
        WITH ORDINALITY AS entries (leaf, ${names.join(', ')}, n);
  INSERT INTO ${table}_nodes
    SELECT expected_size / 256 + n - 1, hash FROM unnest(node_hashes) WITH ORDINALITY AS nodes (hash, n);
END $$;`
}

/** Removes that function as releases before had it. */
const dropOlderAppendSql = ({ columns, table }: PostgresJournalTable): string => `
DO $$ DECLARE older regprocedure; BEGIN
  FOR older IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname = 'append_${table}'
    AND oid <> 'append_${table}(bigint, bytea, bytea[], bytea[], ${columns.map(({ type }) => `${type}[]`).join(', ')})'::regprocedure
  LOOP EXECUTE 'DROP FUNCTION ' || older; END LOOP;
END $$`

const JOURNALS_SCHEMA = new URL('./postgres-journals.schema.sql', import.meta.url)

const splitStep = (step: SchemaStep) =>
  typeof step === 'string' ? { expand: step, contract: '' } : step

/** How many of a kind's steps the store has, and up to which one nothing of before is left. */
async function readSchemaVersion(rows: Rows, schema: string) {
  const found = await rows<readonly [string, string]>(`SELECT name, value FROM ${schema}.meta`)
  const values = new Map(found)
  return {
    version: Number(values.get('schema_version') ?? 0),
    contracted: Number(values.get('schema_contracted') ?? 0),
  }
}

/** Said after both version numbers, or alone on /ready. */
export const TOO_OLD =
  'a program opens its own schema, and the next one until that is contracted: start a newer release'

/**
 * Why a program cannot use a store's schema; undefined if it can. It knows its own, and can live beside the next one until that
 * is contracted.
 */
export async function findSchemaFault(
  rows: Rows,
  { migrations, schema }: Pick<PostgresStoreKind<string>, 'migrations' | 'schema'>,
): Promise<string | undefined> {
  const { contracted, version } = await readSchemaVersion(rows, schema)
  const known = migrations.length
  if (version === known || (version === known + 1 && contracted <= known)) return undefined
  const cure = version < known ? 'migrate it' : TOO_OLD
  return `its schema is ${version}, that of this program ${known}: ${cure}`
}

type Versions = Awaited<ReturnType<typeof readSchemaVersion>>

/** Adds what is missing; a new store has nothing of before. Returns the version up to which nothing of before is left. */
async function expand(
  line: PostgresLine,
  { journals, migrations, Unavailable }: PostgresStoreKind<string>,
  { contracted, version }: Versions,
): Promise<number> {
  if (version > migrations.length)
    throw new Error(`its schema ${version} is newer than this program`)
  const isNew = version === 0
  if (isNew) await line.run(readSchema(JOURNALS_SCHEMA, Unavailable))
  for (const step of migrations.slice(version)) {
    const parts = splitStep(step)
    await line.run(parts.expand)
    if (isNew) await line.run(parts.contract)
  }
  if (version < migrations.length)
    for (const [journal, table] of Object.entries<PostgresJournalTable>(journals))
      await line.run(appendSql(journal, table))
  return isNew ? migrations.length : contracted
}

/** Removes what only processes of releases before needed. None of them runs, and none begins meanwhile. */
async function contract(
  line: PostgresLine,
  { journals, migrations }: PostgresStoreKind<string>,
  { contracted, version }: Versions,
): Promise<number> {
  if (version !== migrations.length)
    throw new Error(`its schema is ${version}, that of this program ${migrations.length}`)
  await line.run('LOCK TABLE processes IN SHARE ROW EXCLUSIVE MODE')
  const older = await line.ask(
    "SELECT id FROM processes WHERE schema_version < $1 AND seen_at >= clock_timestamp() - $2 * interval '1 ms'",
    [version, FORGOTTEN_MS],
  )
  if (older.length > 0) throw new Error(`processes of the release before serve it: ${older.length}`)
  // One that was silent may be in a group: it ends, and the next one finds the schema contracted.
  await line.run('SELECT FROM take_heads()')
  for (const step of migrations.slice(contracted)) await line.run(splitStep(step).contract)
  for (const table of Object.values<PostgresJournalTable>(journals))
    await line.run(dropOlderAppendSql(table))
  return version
}

/** Where a step waits for a table, whoever comes after it waits, too: it gives way after this, milliseconds. */
const STEP_LOCK_MS = 500
/**
 * It is tried again so often, after so many milliseconds: a minute and a half for somebody's long reading to end, six minutes for
 * another migration, for which each try waits 5 s.
 */
const TRIES_MAX = 60
const AGAIN_MS = 1_000
/** Another session was in the way: lock timeout, deadlock. */
const IN_THE_WAY: ReadonlySet<string> = new Set(['55P03', '40P01'])

/** In one transaction. */
async function changeSchema(
  line: PostgresLine,
  kind: PostgresStoreKind<string>,
  part: SchemaPart,
): Promise<void> {
  const { appRole, migrations, schema } = kind
  // Only another migration waits for this one, so a busy machine may pause between its steps. Functions keep the path of names.
  await line.run(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0;
    SELECT pg_advisory_xact_lock(hashtextextended('${schema} migrations', 0));
    SET LOCAL lock_timeout = ${STEP_LOCK_MS};
    ${roleSql(appRole)}
    CREATE SCHEMA IF NOT EXISTS ${schema};
    SET LOCAL search_path = ${schema}, pg_temp;
    CREATE TABLE IF NOT EXISTS meta (name text PRIMARY KEY, value text NOT NULL)`)
  const before = await readSchemaVersion((text) => line.tuples(text), schema)
  const contracted = await (part === 'expand' ? expand : contract)(line, kind, before)
  // A role's rights cover only what exists when they are granted.
  await line.run(rightsSql(kind))
  await line.ask(
    "INSERT INTO meta VALUES ('schema_version', $1), ('schema_contracted', $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    [String(migrations.length), String(contracted)],
  )
  await line.commit()
}

/**
 * Brings a store's schema up to date, as its owner; several processes may do so at once. First what is new is added, beside which
 * the release before goes on; `contract` removes what only that one needed, once its last process has ended. Rejects with the
 * service's error, without changing anything, if that cannot be.
 */
export async function migratePostgresStore<Name extends string>(
  kind: PostgresStoreKind<Name>,
  options: Omit<PostgresOptions, 'Unavailable'>,
  part: SchemaPart = 'expand',
): Promise<void> {
  const { schema, Unavailable } = kind
  const door = new PostgresDoor({ answerMs: UPKEEP_ANSWER_MS, ...options, Unavailable })
  const line = await door.find()
  const change = async (triesLeft: number): Promise<void> => {
    try {
      await changeSchema(line, kind, part)
    } catch (error) {
      if (triesLeft === 0 || !IN_THE_WAY.has(sqlCode(error))) throw error
      await line.run('ROLLBACK')
      await options.pause(AGAIN_MS)
      await change(triesLeft - 1)
    }
  }
  try {
    await change(TRIES_MAX)
  } catch (error) {
    throw new Unavailable(`${schema} cannot be brought up to date: ${errorMessage(error)}`, {
      cause: error,
    })
  } finally {
    await line.end()
  }
}
