/**
 * What one kind of store on PostgreSQL is, and its schema: numbered SQL under an advisory lock. Three things keep journals
 * append-only: the service's role may run two functions and change no row; triggers stop the owner too; and the signed
 * checkpoint exposes anyone who drops the triggers.
 */

import { PostgresDoor, type PostgresOptions } from './postgres-door.ts'
import { UPKEEP_ANSWER_MS } from './postgres-line.ts'
import type { JournalTable, StoreKind } from './store-kind.ts'
import { messageOf } from './unavailable.ts'

/** A journal's table: `at bigint` from 0, `leaf_hash bytea`, and the columns of its cells. */
export type PostgresJournalTable = JournalTable & {
  /** Text that is hashed is kept as bytes: no collation touches it, and it may hold a NUL. */
  readonly columns: readonly {
    readonly name: string
    readonly type: 'bytea' | 'bigint' | 'text'
    readonly isNullable?: boolean
  }[]
}

export type PostgresStoreKind<Name extends string> = StoreKind<Name, PostgresJournalTable> & {
  readonly schema: string
  /** Role of the service: it reads, and appends by function. */
  readonly appRole: string
  /**
   * The service's own tables, after the journals'; `placesSql` is one of them if the store moves between engines or one process
   * has it to itself. Each string takes the schema one version further, and grants the service's
   * role its rights besides reading. `seal_keys (key_id, proof)` is made before them if bodies may be sealed.
   */
  readonly migrations: readonly string[]
}

function journalSql(schema: string, name: string, of: PostgresJournalTable): string {
  const { columns, table } = of
  const defined = columns.map(
    ({ name: column, type, isNullable }) =>
      `${column} ${type === 'text' ? 'text COLLATE "C"' : type}${isNullable === true ? '' : ' NOT NULL'}`,
  )
  const names = columns.map((column) => column.name)
  const keep = (what: string): string => `
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON ${schema}.${what}
  FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.keep();`
  return `
CREATE TABLE ${schema}.${table} (
  at bigint PRIMARY KEY CHECK (at >= 0),
  leaf_hash bytea NOT NULL CHECK (octet_length(leaf_hash) = 32),
  ${defined.join(',\n  ')}
);
CREATE TABLE ${schema}.${table}_nodes ( -- roots of 256 leaves
  place bigint PRIMARY KEY,
  hash bytea NOT NULL CHECK (octet_length(hash) = 32)
);${keep(table)}${keep(`${table}_nodes`)}
INSERT INTO ${schema}.journals VALUES ('${name}', 0, '');
CREATE FUNCTION ${schema}.append_${table}(
  expected_size bigint, new_peaks bytea, node_hashes bytea[], leaf_hashes bytea[],
  ${columns.map(({ name: column, type }) => `${column}_cells ${type}[]`).join(', ')}
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE ${schema}.journals SET size = expected_size + cardinality(leaf_hashes), peaks = new_peaks
    WHERE name = '${name}' AND size = expected_size;
  IF NOT FOUND THEN RAISE EXCEPTION 'the journal has moved on' USING ERRCODE = '40001'; END IF;
  INSERT INTO ${schema}.${table} (at, leaf_hash, ${names.join(', ')})
    SELECT expected_size + n - 1, leaf_hash, ${names.map((_, cell) => `cell_${cell}`).join(', ')}
      FROM unnest(leaf_hashes, ${names.map((column) => `${column}_cells`).join(', ')})
        WITH ORDINALITY AS rows (leaf_hash, ${names.map((_, cell) => `cell_${cell}`).join(', ')}, n);
  INSERT INTO ${schema}.${table}_nodes (place, hash)
    SELECT expected_size / 256 + n - 1, hash FROM unnest(node_hashes) WITH ORDINALITY AS nodes (hash, n);
END $$;`
}

const sealSql = ({ schema, seal }: PostgresStoreKind<string>): string =>
  seal === undefined
    ? ''
    : `
CREATE TABLE ${schema}.seal_keys ( -- at most one row
  key_id text COLLATE "C" PRIMARY KEY, -- of the place that has the keys of chains
  proof bytea NOT NULL -- a known text sealed under it: tells a wrong key at once
);`

/** The first migration: heads, journals, and who may do what. */
function foundation<Name extends string>(kind: PostgresStoreKind<Name>): string {
  const { schema } = kind
  const journals = Object.entries<PostgresJournalTable>(kind.journals)
  return `
CREATE TABLE ${schema}.journals ( -- the head of each journal; whoever appends locks its row
  name text COLLATE "C" PRIMARY KEY,
  size bigint NOT NULL CHECK (size >= 0),
  peaks bytea NOT NULL, -- compact range: 32 bytes for each one bit of size, the largest subtree first
  CHECK (octet_length(peaks) = 32 * length(replace((size::bit(64))::text, '0', '')))
);
CREATE FUNCTION ${schema}.keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'a journal only grows' USING ERRCODE = '42501'; END $$;${sealSql(kind)}
CREATE FUNCTION ${schema}.take_heads() RETURNS TABLE (name text, size bigint, peaks bytea)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT name, size, peaks FROM ${schema}.journals ORDER BY name FOR UPDATE
$$;${journals.map(([name, table]) => journalSql(schema, name, table)).join('')}`
}

/** Roles belong to the whole server: another database's migration may make them at the same time. */
const roleSql = (role: string): string => `
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${role}') THEN CREATE ROLE ${role} LOGIN; END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;`

/** The last group of each writer. Rows older than a day belong to processes that ended, or found their group long ago. */
const writersSql = (schema: string): string => `
CREATE TABLE IF NOT EXISTS ${schema}.journal_writers ( -- who lost the answer of its COMMIT finds its group here, and no other's
  writer uuid PRIMARY KEY,
  last_group bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE OR REPLACE FUNCTION ${schema}.keep_group(of_writer uuid, number bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  UPDATE ${schema}.journal_writers SET last_group = number, at = now() WHERE writer = of_writer;
  IF NOT FOUND THEN
    INSERT INTO ${schema}.journal_writers VALUES (of_writer, number);
    DELETE FROM ${schema}.journal_writers WHERE at < now() - interval '1 day';
  END IF;
END $$`

const rightsOf = ({ appRole, schema, seal }: PostgresStoreKind<string>): string => `
REVOKE ALL ON SCHEMA ${schema} FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ${schema} FROM PUBLIC;
GRANT USAGE ON SCHEMA ${schema} TO ${appRole};
GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${appRole};
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${schema} TO ${appRole};
${seal === undefined ? '' : `GRANT INSERT ON ${schema}.seal_keys TO ${appRole};`}`

/** Every migration of a kind, the journals' first. */
export const migrationsOf = <Name extends string>(
  kind: PostgresStoreKind<Name>,
): readonly string[] => [foundation(kind), ...kind.migrations]

/**
 * Brings a store's schema up to date, as its owner; several processes may do so at once. Rejects with the service's error,
 * without changing anything, if the schema is newer than this program.
 */
export async function migratePostgresStore<Name extends string>(
  kind: PostgresStoreKind<Name>,
  options: Omit<PostgresOptions, 'Unavailable'>,
): Promise<void> {
  const { schema, Unavailable } = kind
  const door = new PostgresDoor({ answerMs: UPKEEP_ANSWER_MS, ...options, Unavailable })
  const line = await door.find()
  try {
    // Only another migration waits for this one, so a busy machine may pause between its steps.
    await line.run(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0;
      SELECT pg_advisory_xact_lock(hashtextextended('${schema} migrations', 0));
      ${roleSql(kind.appRole)}
      CREATE SCHEMA IF NOT EXISTS ${schema};
      CREATE TABLE IF NOT EXISTS ${schema}.meta (name text PRIMARY KEY, value text NOT NULL);${writersSql(schema)}`)
    const [stored] = await line.run<{ readonly value: string }>(
      `SELECT value FROM ${schema}.meta WHERE name = 'schema_version'`,
    )
    const [applied, known] = [Number(stored?.value ?? 0), migrationsOf(kind)]
    if (applied > known.length) throw new Error(`its schema ${applied} is newer than this program`)
    for (const migration of known.slice(applied)) await line.run(migration)
    // A role's rights cover only what exists when they are granted.
    await line.run(rightsOf(kind))
    await line.ask(
      `INSERT INTO ${schema}.meta VALUES ('schema_version', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      [String(known.length)],
    )
    await line.commit()
  } catch (error) {
    throw new Unavailable(`${schema} cannot be brought up to date: ${messageOf(error)}`, {
      cause: error,
    })
  } finally {
    await line.end()
  }
}
