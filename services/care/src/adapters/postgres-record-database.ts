// The schema that holds the records on PostgreSQL: the journals of sqlite-record-database.ts, in the same columns. Text that is
// hashed, and text that others send, is kept as bytes: no collation touches it, and it may hold a NUL.
import {
  type PostgresJournalTable,
  type PostgresStoreKind,
  placesSql,
  type StoreMove,
} from '@tallystick/journal-store/postgres'
import type { Audience } from '../wire/records.ts'
import { RECORDS, VERSION_TABLES } from './sqlite-record-database.ts'

const journalOf = (audience: Audience): PostgresJournalTable => {
  const { fileEnding, noun, originEnding, table } = RECORDS.journals[audience]
  return {
    noun,
    originEnding,
    fileEnding,
    table,
    columns: [
      { name: 'chain', type: 'bigint' },
      { name: 'version', type: 'bigint' },
      { name: 'written_at', type: 'text' },
      { name: 'body', type: 'bytea' },
      { name: 'place', type: 'bigint' }, // versions of both audiences before it: the heads are locked together
    ],
  }
}

const versionRules = (table: string): string => `
ALTER TABLE care.${table}
  ADD UNIQUE (chain, version),
  ADD UNIQUE (place),
  ADD CHECK (version BETWEEN 1 AND 1000000000000),
  ADD FOREIGN KEY (chain) REFERENCES care.chains,
  ALTER COLUMN body SET STORAGE EXTERNAL; -- random or short: compression only costs
CREATE INDEX ${table}_of_chain_by_place ON care.${table} (chain, place);
CREATE INDEX ${table}_first_by_place ON care.${table} (place) WHERE version = 1;`

const MIGRATIONS: readonly string[] = [
  `
CREATE TABLE care.chains (
  id bigint PRIMARY KEY, -- in order of creation: lists page by it
  patient text COLLATE "C" NOT NULL,
  domain text COLLATE "C" NOT NULL,
  audience text COLLATE "C" NOT NULL CHECK (audience IN ('user', 'assistant')),
  latest_version bigint NOT NULL CHECK (latest_version BETWEEN 1 AND 1000000000000),
  head_hash text COLLATE "C" NOT NULL, -- hash of the newest version, hex
  UNIQUE (patient, domain)
) WITH (fillfactor = 80);
CREATE INDEX chains_by_audience ON care.chains (audience, id);
${versionRules(VERSION_TABLES.user)}
${versionRules(VERSION_TABLES.assistant)}
CREATE TABLE care.requests ( -- signed writes that may be sent again (C14)
  mac_hash text COLLATE "C" PRIMARY KEY, -- SHA-256 of the signed write's MAC, hex
  expires_at_ms bigint NOT NULL,
  audience text COLLATE "C" NOT NULL,
  leaf_index bigint NOT NULL,
  subscribers bigint NOT NULL
);
CREATE INDEX requests_by_expiry ON care.requests (expires_at_ms);
CREATE TABLE care.audit_rows (
  sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  row_id uuid NOT NULL UNIQUE, -- so that a row whose answer was lost is not added again
  at text COLLATE "C" NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('accepted', 'rejected')),
  reason text NOT NULL,
  via text NOT NULL,
  actor bytea,
  uri text COLLATE "C"
);
CREATE INDEX audit_rows_rejected ON care.audit_rows (sequence) WHERE outcome = 'rejected';
ALTER TABLE care.audit_rows ENABLE ROW LEVEL SECURITY;
CREATE POLICY audit_read ON care.audit_rows FOR SELECT USING (true);
CREATE POLICY audit_add ON care.audit_rows FOR INSERT TO care_app WITH CHECK (true);
CREATE POLICY audit_rotate ON care.audit_rows FOR DELETE TO care_app USING (outcome = 'rejected');
CREATE TABLE care.mcp_sessions (
  number bigint PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  sub bytea NOT NULL,
  scopes bytea NOT NULL,
  log_level text,
  created_at_ms bigint NOT NULL,
  carried_user bigint NOT NULL,
  carried_assistant bigint NOT NULL,
  carried_told bigint NOT NULL
) WITH (fillfactor = 70);
CREATE TABLE care.mcp_subscriptions (
  session bigint NOT NULL,
  uri text COLLATE "C" NOT NULL,
  since bigint NOT NULL, -- the place from which on it is told
  PRIMARY KEY (session, uri)
);
CREATE TABLE care.mcp_event_key (
  number bigint PRIMARY KEY CHECK (number = 1),
  key bytea NOT NULL -- seals event ids
);
GRANT INSERT, UPDATE (latest_version, head_hash) ON care.chains TO care_app;
GRANT INSERT, UPDATE (subscribers), DELETE ON care.requests TO care_app;
GRANT INSERT, DELETE ON care.audit_rows TO care_app;
GRANT INSERT ON care.mcp_event_key TO care_app;
GRANT INSERT, UPDATE, DELETE ON care.mcp_sessions, care.mcp_subscriptions TO care_app;`,
  // A read that a person waits for uses an index, and never passes chains of the other audience.
  `
CREATE INDEX chains_by_slot ON care.chains (audience, patient, domain);
CREATE INDEX chains_by_patient ON care.chains (audience, patient, id);
CREATE INDEX chains_by_domain ON care.chains (audience, domain);
CREATE INDEX user_versions_by_time ON care.user_versions (chain, written_at, version);
CREATE INDEX assistant_versions_by_time ON care.assistant_versions (chain, written_at, version);`,
  `
-- RFC 9162 root over the leaf hashes of a chain whose key was destroyed (C31), hex.
ALTER TABLE care.chains ADD COLUMN erased_leaves text COLLATE "C";
CREATE TABLE care.erasures (
  chain text COLLATE "C" PRIMARY KEY, -- patient|domain, also where a backup does not hold that chain
  at text COLLATE "C" NOT NULL,
  actor text NOT NULL,
  reason text NOT NULL
);
GRANT UPDATE (erased_leaves) ON care.chains TO care_app;
GRANT INSERT ON care.erasures TO care_app;`,
  // Tokens that were revoked, and who read what.
  `
CREATE TABLE care.revoked_tokens (
  jti text COLLATE "C" PRIMARY KEY,
  at text COLLATE "C" NOT NULL,
  actor text NOT NULL,
  reason text NOT NULL
);
CREATE TABLE care.read_rows (
  sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at text COLLATE "C" NOT NULL,
  actor text COLLATE "C" NOT NULL,
  way text NOT NULL,
  outcome text NOT NULL,
  uri text COLLATE "C" NOT NULL
);
CREATE INDEX read_rows_by_uri ON care.read_rows (uri, sequence);
CREATE INDEX read_rows_by_time ON care.read_rows (at);
GRANT INSERT ON care.revoked_tokens TO care_app;
GRANT INSERT, DELETE ON care.read_rows TO care_app;`,
  `
CREATE TABLE care.mcp_unheard (
  uri text COLLATE "C" PRIMARY KEY,
  version bigint NOT NULL,
  since_ms bigint NOT NULL
);
CREATE TABLE care.mcp_judged (
  number bigint PRIMARY KEY CHECK (number = 1),
  place bigint NOT NULL -- before it every correction is heard, or in mcp_unheard
);
GRANT INSERT, UPDATE, DELETE ON care.mcp_unheard, care.mcp_judged TO care_app;`,
  // Webhook subscriptions (C22).
  `
CREATE TABLE care.event_subscriptions (
  id text COLLATE "C" PRIMARY KEY,
  refresh text NOT NULL,
  sub text COLLATE "C" NOT NULL,
  scopes text NOT NULL,
  jti text,
  patient text COLLATE "C" NOT NULL,
  domain text COLLATE "C",
  receiver text NOT NULL,
  done_to bigint NOT NULL,
  expires_ms bigint NOT NULL,
  is_active bigint NOT NULL,
  last_delivery_ms bigint,
  last_error text,
  failed_since_ms bigint
);
CREATE INDEX event_subscriptions_by_sub ON care.event_subscriptions (sub);
CREATE TABLE care.event_receivers (
  receiver text COLLATE "C" PRIMARY KEY,
  until_ms bigint NOT NULL
);
-- Only the fence is used: holder and until_ms are of the lease that it once was, and older programs still write them.
CREATE TABLE care.event_lease (
  holder text NOT NULL,
  fence bigint NOT NULL,
  until_ms bigint NOT NULL
);
INSERT INTO care.event_lease VALUES ('', 0, 0);
GRANT INSERT, UPDATE, DELETE ON care.event_subscriptions, care.event_receivers TO care_app;
GRANT UPDATE ON care.event_lease TO care_app;`,
  // The place of the process that serves the records (C44).
  placesSql('care'),
  // A freed chain keeps its versions, its leaves and its key; a topic's own chain is the one with 0 (C47).
  `
ALTER TABLE care.chains
  ADD COLUMN turn bigint NOT NULL DEFAULT 0, -- chains of its topic that had been freed when it began
  ADD COLUMN freed bigint NOT NULL DEFAULT 0, -- its number among those of its audience, from 1
  DROP CONSTRAINT chains_patient_domain_key;
CREATE UNIQUE INDEX chains_by_name ON care.chains (patient, domain) WHERE freed = 0;
CREATE UNIQUE INDEX chains_by_turn ON care.chains (patient, domain, turn);
CREATE UNIQUE INDEX chains_freed ON care.chains (patient, domain, audience, freed) WHERE freed > 0;
CREATE TABLE care.frees (
  chain bigint PRIMARY KEY REFERENCES care.chains,
  number bigint NOT NULL, -- of all of them, from 0
  user_size bigint NOT NULL, -- of the journals then: where streams tell of it
  assistant_size bigint NOT NULL,
  at text COLLATE "C" NOT NULL,
  actor text NOT NULL,
  reason text NOT NULL
);
GRANT UPDATE (freed) ON care.chains TO care_app;
GRANT INSERT ON care.frees TO care_app;`,
]

/** The store of processes on one database (C14, C16, C17). */
export const POSTGRES_RECORDS = {
  schema: 'care',
  appRole: 'care_app',
  journals: { user: journalOf('user'), assistant: journalOf('assistant') },
  migrations: MIGRATIONS,
  writesPerCommitMax: RECORDS.writesPerCommitMax,
  Unavailable: RECORDS.Unavailable,
  acceptCommand: RECORDS.acceptCommand,
  seal: RECORDS.seal,
} as const satisfies PostgresStoreKind<Audience>

/**
 * What moves between the engines. Sessions do not, since clients open new ones; audit rows stay where they were written.
 */
export const RECORDS_MOVE: StoreMove<Audience> = {
  sqlite: RECORDS,
  postgres: POSTGRES_RECORDS,
  tables: [{ table: 'chains' }, { table: 'requests' }, { table: 'erasures' }, { table: 'frees' }],
}
