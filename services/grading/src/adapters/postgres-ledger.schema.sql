-- The ledger and the reservations on PostgreSQL: the first release's schema, in the columns of sqlite-ledger.schema.sql and
-- sqlite-reservations.schema.sql; equal-columns.test.ts names what differs. It stands in the schema `grading`, behind what every
-- store of journals has (postgres-journals.schema.sql). The server keeps entries and picks append-only; events and truth are
-- counted from them.
CREATE TABLE entries (
  at bigint PRIMARY KEY CHECK (at >= 0), -- place in the ledger, from 0
  leaf_hash bytea NOT NULL CHECK (octet_length(leaf_hash) = 32), -- RFC 9162
  event bigint, -- whom it is about; null for commitments
  text bytea NOT NULL -- RFC 8785 JSON in UTF-8: the hashed bytes
);
CREATE INDEX entries_by_event ON entries (event, at) WHERE event IS NOT NULL;
CREATE TABLE entries_nodes ( -- roots of 256 leaves
  place bigint PRIMARY KEY,
  hash bytea NOT NULL CHECK (octet_length(hash) = 32)
);
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON entries EXECUTE FUNCTION keep();
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON entries_nodes EXECUTE FUNCTION keep();
INSERT INTO journals VALUES ('ledger', 0, '');

CREATE TABLE events ( -- index of the ledger
  id bigint PRIMARY KEY, -- under it its entries are filed; the next one under the lock of the head
  path text COLLATE "C" NOT NULL UNIQUE,
  sport text COLLATE "C" NOT NULL,
  start_at bigint NOT NULL, -- Unix seconds
  words text COLLATE "C" NOT NULL, -- of teams and league, a space before each
  search tsvector NOT NULL, -- the same and the sport's: no parser, no dictionary
  home text COLLATE "C" NOT NULL, -- keys of the teams, for names in picks
  away text COLLATE "C" NOT NULL
);
CREATE INDEX events_by_start ON events (start_at);
CREATE INDEX events_by_sport ON events (sport, start_at);
CREATE INDEX events_by_words ON events USING gin (search) WITH (fastupdate = off);
CREATE INDEX events_by_home ON events (home, away, start_at);
CREATE INDEX events_by_away ON events (away, start_at);
CREATE TABLE picks (
  receipt text COLLATE "C" PRIMARY KEY,
  payment_id text COLLATE "C" NOT NULL UNIQUE, -- one payment, one pick
  event_path text COLLATE "C" NOT NULL,
  payer text COLLATE "C" NOT NULL,
  opening text COLLATE "C" NOT NULL, -- JSON; its commitment is the entry at seq
  options text COLLATE "C" NOT NULL,
  seq bigint UNIQUE
);
CREATE INDEX picks_by_event ON picks (event_path, seq) WHERE seq IS NOT NULL;
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON picks EXECUTE FUNCTION keep();
CREATE TABLE truth ( -- written in the transaction of the entries that it counts
  key text COLLATE "C" PRIMARY KEY,
  cell text COLLATE "C", -- null for one that counts nothing any more
  as_of bigint NOT NULL -- size of the ledger when it changed last: others read what is newer than their own
) WITH (fillfactor = 70);
CREATE INDEX truth_by_change ON truth (as_of);
CREATE TABLE payloads (
  raw_sha256 text COLLATE "C" PRIMARY KEY,
  feed text COLLATE "C" NOT NULL,
  received_at bigint NOT NULL -- Unix seconds
);
INSERT INTO meta VALUES -- salts payer tags and hidden prices; it moves with the ledger
  ('payer_secret', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''));
GRANT INSERT ON picks, payloads TO grading_app;
GRANT INSERT, UPDATE ON events, truth TO grading_app;

CREATE TABLE reservations (
  payment_id text COLLATE "C" PRIMARY KEY,
  serial bigint GENERATED ALWAYS AS IDENTITY, -- the order of one payer's: drawn under the payer's lock
  attempt uuid NOT NULL, -- the call that stored it, which so finds it again where its COMMIT was not answered
  owner uuid NOT NULL, -- the process that does its work, by its row of processes; another's once that is gone
  payer text COLLATE "C" NOT NULL, -- network and account
  fingerprint text COLLATE "C" NOT NULL,
  idempotency_key text COLLATE "C",
  keeps_answer boolean NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('reserved', 'settled', 'answered')),
  expires_at double precision NOT NULL, -- Unix seconds, by the service's clock
  body text COLLATE "C" NOT NULL, -- payment and subject, JSON; the amount as text
  request text COLLATE "C", -- while there is no answer
  answer text COLLATE "C",
  answered_by text COLLATE "C", -- payment_id of the row whose answer this one was given
  is_delivered boolean NOT NULL DEFAULT false,
  guesses text COLLATE "C", -- requests for something else under it, by the network of their sender: pairs, JSON
  CHECK ((state = 'answered') = (answer IS NOT NULL OR answered_by IS NOT NULL))
) WITH (fillfactor = 50);
CREATE INDEX reservations_open ON reservations (serial) WHERE state <> 'answered';
CREATE INDEX reservations_by_expiry ON reservations (expires_at) WHERE state = 'answered';
CREATE INDEX reservations_unsettled ON reservations (payer) WHERE state = 'reserved';
-- No process can forget these: of one payer, one open payment for one thing, and under one key.
CREATE UNIQUE INDEX reservations_one_open ON reservations (payer, fingerprint)
  WHERE keeps_answer AND state <> 'answered';
CREATE UNIQUE INDEX reservations_one_open_key ON reservations (payer, idempotency_key)
  WHERE keeps_answer AND state <> 'answered' AND idempotency_key IS NOT NULL;
CREATE INDEX reservations_by_fingerprint ON reservations (payer, fingerprint, serial)
  WHERE keeps_answer AND answered_by IS NULL;
CREATE INDEX reservations_by_key ON reservations (payer, idempotency_key, serial)
  WHERE idempotency_key IS NOT NULL;
CREATE INDEX reservations_by_origin ON reservations (answered_by) WHERE answered_by IS NOT NULL;
GRANT INSERT, UPDATE, DELETE ON reservations TO grading_app;
-- end of the schema
