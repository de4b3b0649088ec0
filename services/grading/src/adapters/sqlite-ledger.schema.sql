-- The ledger in one file: the first release's schema.
CREATE TABLE journals ( -- the head of the ledger
  name TEXT PRIMARY KEY,
  size INTEGER NOT NULL CHECK (size >= 0),
  peaks BLOB NOT NULL -- compact range: 32 bytes for each one bit of size, the largest subtree first
) STRICT;
INSERT INTO journals VALUES ('ledger', 0, x'');
CREATE TABLE entries (
  at INTEGER PRIMARY KEY, -- place in the ledger, from 0
  event INTEGER, -- whom it is about; null for commitments
  text TEXT NOT NULL, -- RFC 8785 JSON, the text that is hashed
  leaf_hash BLOB NOT NULL -- RFC 9162
) STRICT;
CREATE INDEX entries_by_event ON entries (event, at) WHERE event IS NOT NULL;
CREATE TABLE entries_nodes ( -- roots of whole subtrees of 256 leaves, for short proofs
  place INTEGER PRIMARY KEY,
  hash BLOB NOT NULL
) STRICT;
CREATE TABLE events ( -- index of the ledger
  id INTEGER PRIMARY KEY, -- under it its entries are filed
  path TEXT NOT NULL UNIQUE,
  sport TEXT NOT NULL,
  start_at INTEGER NOT NULL, -- Unix seconds
  words TEXT NOT NULL, -- of teams and league, a space before each
  home TEXT NOT NULL, -- keys of the teams, for names in picks
  away TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_start ON events (start_at);
CREATE INDEX events_by_sport ON events (sport, start_at);
CREATE INDEX events_by_home ON events (home, away, start_at);
CREATE INDEX events_by_away ON events (away, start_at);
-- Words of sport, league and teams by event: without this index every look-up by name reads every event.
CREATE VIRTUAL TABLE event_words USING fts5 (
  words, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 0'
);
CREATE TABLE picks (
  receipt TEXT PRIMARY KEY,
  payment_id TEXT NOT NULL UNIQUE, -- one payment, one pick
  event_path TEXT NOT NULL,
  payer TEXT NOT NULL,
  opening TEXT NOT NULL, -- JSON; its commitment is the entry at seq
  options TEXT NOT NULL,
  seq INTEGER UNIQUE
) STRICT;
CREATE INDEX picks_by_event ON picks (event_path, seq);
CREATE TABLE truth ( -- written in the transaction of the entries that it counts
  key TEXT PRIMARY KEY,
  cell TEXT, -- null for one that counts nothing any more
  as_of INTEGER NOT NULL -- size of the ledger when it changed last: others read what is newer than their own
) STRICT;
CREATE INDEX truth_by_change ON truth (as_of);
CREATE TABLE payloads (
  raw_sha256 TEXT PRIMARY KEY,
  feed TEXT NOT NULL,
  received_at INTEGER NOT NULL -- Unix seconds
) STRICT;
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;
INSERT INTO meta VALUES -- salts payer tags and hidden prices; it moves with the ledger
  ('payer_secret', lower(hex(randomblob(32))));
-- end of the schema
