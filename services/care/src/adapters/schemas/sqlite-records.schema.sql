-- The records in one file: the first release's schema. A version is one row of its audience's table, and that table in order of
-- `at` is the journal.
CREATE TABLE journals ( -- the head of each journal
  name TEXT PRIMARY KEY,
  size INTEGER NOT NULL CHECK (size >= 0),
  peaks BLOB NOT NULL -- compact range: 32 bytes for each one bit of size, the largest subtree first
) STRICT;
INSERT INTO journals VALUES ('assistant', 0, x''), ('user', 0, x'');
CREATE TABLE meta ( -- imports that have not ended
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

CREATE TABLE chains (
  id INTEGER PRIMARY KEY, -- in order of creation: lists page by it
  patient TEXT NOT NULL,
  domain TEXT NOT NULL,
  audience TEXT NOT NULL CHECK (audience IN ('user', 'assistant')),
  latest_version INTEGER NOT NULL CHECK (latest_version BETWEEN 1 AND 1000000000000),
  head_hash TEXT NOT NULL, -- hash of the newest version, hex
  withdrawn INTEGER NOT NULL CHECK (withdrawn IN (0, 1)), -- 1 if that version withdraws it (C40): lists leave it out
  -- RFC 9162 root over the leaf hashes of a chain whose key was destroyed (C31), hex.
  erased_leaves TEXT,
  -- A freed chain keeps its versions, its leaves and its key; a topic's own chain is the one with 0 (C47).
  turn INTEGER NOT NULL DEFAULT 0, -- chains of its topic that had been freed when it began
  freed INTEGER NOT NULL DEFAULT 0 -- its number among those of its audience, from 1
) STRICT;
CREATE UNIQUE INDEX chains_by_name ON chains (patient, domain) WHERE freed = 0;
CREATE UNIQUE INDEX chains_by_turn ON chains (patient, domain, turn);
CREATE UNIQUE INDEX chains_freed ON chains (patient, domain, audience, freed) WHERE freed > 0;
-- A read that a person waits for uses an index, and never passes chains of the other audience.
CREATE INDEX chains_by_audience ON chains (audience, id);
CREATE INDEX chains_by_slot ON chains (audience, patient, domain);
CREATE INDEX chains_by_patient ON chains (audience, patient, id);
CREATE INDEX chains_by_domain ON chains (audience, domain);

CREATE TABLE user_versions (
  at INTEGER PRIMARY KEY, -- in the journal, from 0
  leaf_hash BLOB NOT NULL CHECK (length(leaf_hash) = 32), -- RFC 9162
  chain INTEGER NOT NULL,
  version INTEGER NOT NULL CHECK (version BETWEEN 1 AND 1000000000000),
  written_at TEXT NOT NULL, -- as in the entry, for queries by time
  body ANY NOT NULL, -- the journal entry: text in the clear, blob sealed
  place INTEGER NOT NULL UNIQUE, -- how many versions of both audiences are before it
  changes_list INTEGER NOT NULL CHECK (changes_list IN (0, 1)) -- 1 where lists gain or lose its chain (C40)
) STRICT;
CREATE UNIQUE INDEX user_versions_by_chain ON user_versions (chain, version);
CREATE INDEX user_versions_by_time ON user_versions (chain, written_at, version);
CREATE INDEX user_versions_of_chain_by_place ON user_versions (chain, place);
CREATE INDEX user_versions_of_lists_by_place ON user_versions (place) WHERE changes_list = 1;
CREATE TABLE user_versions_nodes ( -- roots of 256 leaves
  place INTEGER PRIMARY KEY,
  hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

CREATE TABLE assistant_versions (
  at INTEGER PRIMARY KEY,
  leaf_hash BLOB NOT NULL CHECK (length(leaf_hash) = 32),
  chain INTEGER NOT NULL,
  version INTEGER NOT NULL CHECK (version BETWEEN 1 AND 1000000000000),
  written_at TEXT NOT NULL,
  body ANY NOT NULL,
  place INTEGER NOT NULL UNIQUE,
  changes_list INTEGER NOT NULL CHECK (changes_list IN (0, 1))
) STRICT;
CREATE UNIQUE INDEX assistant_versions_by_chain ON assistant_versions (chain, version);
CREATE INDEX assistant_versions_by_time ON assistant_versions (chain, written_at, version);
CREATE INDEX assistant_versions_of_chain_by_place ON assistant_versions (chain, place);
CREATE INDEX assistant_versions_of_lists_by_place ON assistant_versions (place) WHERE changes_list = 1;
CREATE TABLE assistant_versions_nodes (
  place INTEGER PRIMARY KEY,
  hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

CREATE TABLE requests (
  mac_hash TEXT NOT NULL, -- SHA-256 of the signed write's MAC, hex
  expires_at_ms INTEGER NOT NULL,
  audience TEXT NOT NULL,
  leaf_index INTEGER NOT NULL,
  subscribers INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX requests_by_mac ON requests (mac_hash);
-- Holds every column, so that the integrity check at opening compares each with its copy.
CREATE INDEX requests_whole ON requests (expires_at_ms, mac_hash, audience, leaf_index, subscribers);
CREATE TABLE seal_keys (
  key_id TEXT PRIMARY KEY, -- of the place that has the keys of chains
  proof BLOB NOT NULL -- a known text sealed under it: tells a wrong key at once
) STRICT;
CREATE TABLE erasures (
  chain TEXT PRIMARY KEY, -- patient|domain, also where a backup does not hold that chain
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;
CREATE TABLE frees (
  chain INTEGER PRIMARY KEY,
  number INTEGER NOT NULL, -- of all of them, from 0
  user_size INTEGER NOT NULL, -- of the journals then: where streams tell of it
  assistant_size INTEGER NOT NULL,
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;
-- end of the schema
