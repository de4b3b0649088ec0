-- The records on PostgreSQL: the first release's schema, in the columns of sqlite-records.schema.sql and
-- sqlite-side-rows.schema.sql; equal-columns.test.ts names what differs. It stands in the schema `care`, behind what every store
-- of journals has (postgres-journals.schema.sql). Text that is hashed, and text that others send, is kept as bytes: no collation
-- touches it, and it may hold a NUL.
CREATE TABLE chains (
  id bigint PRIMARY KEY, -- in order of creation: lists page by it
  patient text COLLATE "C" NOT NULL,
  domain text COLLATE "C" NOT NULL,
  audience text COLLATE "C" NOT NULL CHECK (audience IN ('user', 'assistant')),
  latest_version bigint NOT NULL CHECK (latest_version BETWEEN 1 AND 1000000000000),
  head_hash text COLLATE "C" NOT NULL, -- hash of the newest version, hex
  withdrawn bigint NOT NULL CHECK (withdrawn IN (0, 1)), -- 1 if that version withdraws it (C40): lists leave it out
  -- RFC 9162 root over the leaf hashes of a chain whose key was destroyed (C31), hex.
  erased_leaves text COLLATE "C",
  -- A freed chain keeps its versions, its leaves and its key; a topic's own chain is the one with 0 (C47).
  turn bigint NOT NULL DEFAULT 0, -- chains of its topic that had been freed when it began
  freed bigint NOT NULL DEFAULT 0 -- its number among those of its audience, from 1
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX chains_by_name ON chains (patient, domain) WHERE freed = 0;
CREATE UNIQUE INDEX chains_by_turn ON chains (patient, domain, turn);
CREATE UNIQUE INDEX chains_freed ON chains (patient, domain, audience, freed) WHERE freed > 0;
-- A read that a person waits for uses an index, and never passes chains of the other audience.
CREATE INDEX chains_by_audience ON chains (audience, id);
CREATE INDEX chains_by_slot ON chains (audience, patient, domain);
CREATE INDEX chains_by_patient ON chains (audience, patient, id);
CREATE INDEX chains_by_domain ON chains (audience, domain);
GRANT INSERT, UPDATE (latest_version, head_hash, withdrawn, erased_leaves, freed) ON chains TO care_app;

CREATE TABLE user_versions (
  at bigint PRIMARY KEY CHECK (at >= 0),
  leaf_hash bytea NOT NULL CHECK (octet_length(leaf_hash) = 32),
  chain bigint NOT NULL REFERENCES chains,
  version bigint NOT NULL CHECK (version BETWEEN 1 AND 1000000000000),
  written_at text COLLATE "C" NOT NULL, -- as in the entry, for queries by time
  body bytea NOT NULL, -- the journal entry
  place bigint NOT NULL UNIQUE, -- versions of both audiences before it: the heads are locked together
  changes_list bigint NOT NULL CHECK (changes_list IN (0, 1)), -- 1 where lists gain or lose its chain (C40)
  UNIQUE (chain, version)
);
ALTER TABLE user_versions ALTER COLUMN body SET STORAGE EXTERNAL; -- random or short: compression only costs
CREATE INDEX user_versions_by_time ON user_versions (chain, written_at, version);
CREATE INDEX user_versions_of_chain_by_place ON user_versions (chain, place);
CREATE INDEX user_versions_of_lists_by_place ON user_versions (place) WHERE changes_list = 1;
CREATE TABLE user_versions_nodes ( -- roots of 256 leaves
  place bigint PRIMARY KEY,
  hash bytea NOT NULL CHECK (octet_length(hash) = 32)
);
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON user_versions EXECUTE FUNCTION keep();
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON user_versions_nodes EXECUTE FUNCTION keep();
INSERT INTO journals VALUES ('user', 0, '');

CREATE TABLE assistant_versions (
  at bigint PRIMARY KEY CHECK (at >= 0),
  leaf_hash bytea NOT NULL CHECK (octet_length(leaf_hash) = 32),
  chain bigint NOT NULL REFERENCES chains,
  version bigint NOT NULL CHECK (version BETWEEN 1 AND 1000000000000),
  written_at text COLLATE "C" NOT NULL,
  body bytea NOT NULL,
  place bigint NOT NULL UNIQUE,
  changes_list bigint NOT NULL CHECK (changes_list IN (0, 1)),
  UNIQUE (chain, version)
);
ALTER TABLE assistant_versions ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX assistant_versions_by_time ON assistant_versions (chain, written_at, version);
CREATE INDEX assistant_versions_of_chain_by_place ON assistant_versions (chain, place);
CREATE INDEX assistant_versions_of_lists_by_place ON assistant_versions (place) WHERE changes_list = 1;
CREATE TABLE assistant_versions_nodes (
  place bigint PRIMARY KEY,
  hash bytea NOT NULL CHECK (octet_length(hash) = 32)
);
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON assistant_versions EXECUTE FUNCTION keep();
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON assistant_versions_nodes EXECUTE FUNCTION keep();
INSERT INTO journals VALUES ('assistant', 0, '');

CREATE TABLE requests ( -- signed writes that may be sent again (C14)
  mac_hash text COLLATE "C" PRIMARY KEY, -- SHA-256 of the signed write's MAC, hex
  expires_at_ms bigint NOT NULL,
  audience text COLLATE "C" NOT NULL,
  leaf_index bigint NOT NULL,
  subscribers bigint NOT NULL
);
CREATE INDEX requests_by_expiry ON requests (expires_at_ms);
CREATE TABLE seal_keys ( -- at most one row
  key_id text COLLATE "C" PRIMARY KEY, -- of the place that has the keys of chains
  proof bytea NOT NULL -- a known text sealed under it: tells a wrong key at once
);
CREATE TABLE erasures (
  chain text COLLATE "C" PRIMARY KEY, -- patient|domain, also where a backup does not hold that chain
  at text COLLATE "C" NOT NULL,
  actor text NOT NULL,
  reason text NOT NULL
);
CREATE TABLE frees (
  chain bigint PRIMARY KEY REFERENCES chains,
  number bigint NOT NULL, -- of all of them, from 0
  user_size bigint NOT NULL, -- of the journals then: where streams tell of it
  assistant_size bigint NOT NULL,
  at text COLLATE "C" NOT NULL,
  actor text NOT NULL,
  reason text NOT NULL
);
CREATE TABLE verdicts ( -- on pages of chains, as a process replayed them (C32): a row counts by its MAC alone
  audience text COLLATE "C" NOT NULL,
  page bigint NOT NULL,
  at_ms bigint NOT NULL,
  leaves bigint NOT NULL, -- of the journal, which it covers at least
  is_last bigint NOT NULL, -- 1 if it has whatever stands behind all chains
  found text NOT NULL,
  mac bytea NOT NULL,
  PRIMARY KEY (audience, page)
);
CREATE TABLE witness_news ( -- what the process that shows the journal was told (C9); counts by its MAC alone
  number bigint PRIMARY KEY CHECK (number = 1),
  at_ms bigint NOT NULL,
  news text NOT NULL,
  mac bytea NOT NULL
);
GRANT INSERT, UPDATE (subscribers), DELETE ON requests TO care_app;
GRANT INSERT, UPDATE ON verdicts, witness_news TO care_app;
GRANT INSERT ON seal_keys, erasures, frees TO care_app;

CREATE TABLE audit_rows (
  sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  row_id uuid NOT NULL UNIQUE, -- so that a row whose answer was lost is not added again
  at text COLLATE "C" NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('accepted', 'rejected')),
  reason text NOT NULL,
  via text NOT NULL,
  actor bytea,
  uri text COLLATE "C"
);
CREATE INDEX audit_rows_rejected ON audit_rows (sequence) WHERE outcome = 'rejected';
ALTER TABLE audit_rows ENABLE ROW LEVEL SECURITY;
CREATE POLICY audit_read ON audit_rows FOR SELECT USING (true);
CREATE POLICY audit_add ON audit_rows FOR INSERT TO care_app WITH CHECK (true);
CREATE POLICY audit_rotate ON audit_rows FOR DELETE TO care_app USING (outcome = 'rejected');
CREATE TABLE read_rows ( -- who read what
  sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at text COLLATE "C" NOT NULL,
  actor text COLLATE "C" NOT NULL,
  way text NOT NULL,
  outcome text NOT NULL,
  uri text COLLATE "C" NOT NULL,
  -- The URI up to its patient's slash, care://ann/; of all of an audience, care://.
  whose text COLLATE "C" NOT NULL GENERATED ALWAYS AS (coalesce(substring(uri from '^[^/]*//(?:[^/]*/)?'), '')) STORED
);
CREATE INDEX read_rows_by_uri ON read_rows (uri, sequence);
CREATE INDEX read_rows_by_whose ON read_rows (whose, sequence);
CREATE INDEX read_rows_by_time ON read_rows (at);
CREATE TABLE revoked_tokens (
  jti text COLLATE "C" PRIMARY KEY,
  at text COLLATE "C" NOT NULL,
  actor text NOT NULL,
  reason text NOT NULL
);
GRANT INSERT, DELETE ON audit_rows, read_rows TO care_app;
GRANT INSERT ON revoked_tokens TO care_app;

-- The place of the next version. No other is appended before the transaction ends: a subscription begins exactly there.
CREATE FUNCTION read_place() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT sum(size)::bigint FROM (SELECT size FROM journals ORDER BY name FOR SHARE) AS heads
$$;
CREATE TABLE mcp_sessions (
  number bigint PRIMARY KEY,
  id text COLLATE "C" NOT NULL,
  sub bytea NOT NULL,
  scopes bytea NOT NULL,
  log_level text,
  created_at_ms bigint NOT NULL,
  carried_user bigint NOT NULL,
  carried_assistant bigint NOT NULL,
  carried_frames bigint NOT NULL,
  changes bigint NOT NULL, -- how often it was changed: every process mirrors it
  stream_epoch bigint NOT NULL, -- streams so far: the newest alone says what it has carried
  stream_process uuid, -- that has its stream
  silent_since_ms bigint, -- while none has
  seen_at_ms bigint NOT NULL -- when it was last in use, or a little later
) WITH (fillfactor = 70);
CREATE INDEX mcp_sessions_by_sub ON mcp_sessions (sub);
CREATE TABLE mcp_subscriptions (
  session bigint NOT NULL,
  uri text COLLATE "C" NOT NULL,
  since bigint NOT NULL, -- the place from which on it is told
  PRIMARY KEY (session, uri)
);
-- Sessions that a process is to read again, filled in the transaction of the change: whoever sees a version finds here every
-- change that was answered before it was written.
CREATE TABLE mcp_inbox (
  at bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  process uuid NOT NULL REFERENCES processes ON DELETE CASCADE,
  session bigint NOT NULL,
  cancelled text -- a request of it that ends, as JSON
);
CREATE INDEX mcp_inbox_by_process ON mcp_inbox (process);
CREATE TABLE mcp_listens ( -- streams without a session: each is at one process, and is counted by all
  id uuid PRIMARY KEY,
  process uuid NOT NULL REFERENCES processes ON DELETE CASCADE,
  sub bytea NOT NULL
);
CREATE INDEX mcp_listens_by_sub ON mcp_listens (sub);
CREATE INDEX mcp_listens_by_process ON mcp_listens (process);
CREATE TABLE mcp_listened (
  listen uuid NOT NULL REFERENCES mcp_listens ON DELETE CASCADE,
  uri text COLLATE "C" NOT NULL,
  since bigint NOT NULL, -- as of a subscription
  PRIMARY KEY (uri, listen)
);
CREATE INDEX mcp_listened_by_listen ON mcp_listened (listen);
GRANT INSERT, DELETE ON mcp_inbox, mcp_listens, mcp_listened TO care_app;
CREATE TABLE mcp_event_key (
  number bigint PRIMARY KEY CHECK (number = 1),
  key bytea NOT NULL -- seals event ids
);
CREATE TABLE mcp_unheard (
  uri text COLLATE "C" PRIMARY KEY,
  version bigint NOT NULL,
  since_ms bigint NOT NULL,
  language text -- if anybody has said it
);
CREATE TABLE mcp_judged (
  number bigint PRIMARY KEY CHECK (number = 1),
  place bigint NOT NULL -- before it every correction is heard, or in mcp_unheard
);
GRANT INSERT ON mcp_event_key TO care_app;
GRANT INSERT, UPDATE, DELETE ON mcp_sessions, mcp_subscriptions, mcp_unheard, mcp_judged TO care_app;

CREATE TABLE event_subscriptions ( -- by webhook (C22)
  id text COLLATE "C" PRIMARY KEY,
  refresh text NOT NULL,
  sub text COLLATE "C" NOT NULL,
  scopes text NOT NULL, -- JSON
  jti text,
  patient text COLLATE "C" NOT NULL,
  domain text COLLATE "C",
  receiver text NOT NULL, -- URL and secrets, sealed
  done_to bigint NOT NULL,
  expires_ms bigint NOT NULL,
  is_active bigint NOT NULL,
  last_delivery_ms bigint,
  last_error text,
  failed_since_ms bigint
);
CREATE INDEX event_subscriptions_by_sub ON event_subscriptions (sub);
CREATE TABLE event_receivers (
  receiver text COLLATE "C" PRIMARY KEY, -- hash of principal, program, URL and secret
  until_ms bigint NOT NULL
);
GRANT INSERT, UPDATE, DELETE ON event_subscriptions, event_receivers TO care_app;
-- end of the schema
