/**
 * The ledger and the reservations on PostgreSQL: schema `grading`, and what the service's role may do in it. The server
 * keeps entries and picks append-only; what is counted from them (events, truth) may be recounted.
 */
import { type PostgresStoreKind, placesSql } from '@tallystick/journal-store/postgres'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'

const TABLES = `
CREATE TABLE grading.events ( -- index of the ledger
  id bigint PRIMARY KEY, -- under it its entries are filed; the next one under the lock of the head
  path text COLLATE "C" NOT NULL UNIQUE,
  sport text COLLATE "C" NOT NULL,
  start_at bigint NOT NULL, -- Unix seconds
  words text COLLATE "C" NOT NULL, -- of teams and league, a space before each
  search tsvector NOT NULL, -- the same and the sport's: no parser, no dictionary
  home text COLLATE "C" NOT NULL, -- keys of the teams, for names in picks
  away text COLLATE "C" NOT NULL
);
CREATE INDEX events_by_start ON grading.events (start_at);
CREATE INDEX events_by_sport ON grading.events (sport, start_at);
CREATE INDEX events_by_words ON grading.events USING gin (search) WITH (fastupdate = off);
CREATE INDEX events_by_home ON grading.events (home, away, start_at);
CREATE INDEX events_by_away ON grading.events (away, start_at);
CREATE INDEX entries_by_event ON grading.entries (event, at) WHERE event IS NOT NULL;
CREATE TABLE grading.picks (
  receipt text COLLATE "C" PRIMARY KEY,
  payment_id text COLLATE "C" NOT NULL UNIQUE, -- one payment, one pick
  event_path text COLLATE "C" NOT NULL,
  payer text COLLATE "C" NOT NULL,
  opening text COLLATE "C" NOT NULL, -- JSON; its commitment is the entry at seq
  options text COLLATE "C" NOT NULL,
  seq bigint UNIQUE
);
CREATE INDEX picks_by_event ON grading.picks (event_path, seq) WHERE seq IS NOT NULL;
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON grading.picks
  FOR EACH STATEMENT EXECUTE FUNCTION grading.keep();
CREATE TABLE grading.truth ( -- written in the transaction of the entries that it counts
  key text COLLATE "C" PRIMARY KEY,
  cell text COLLATE "C", -- null for one that counts nothing any more
  as_of bigint NOT NULL -- size of the ledger when it changed last: others read what is newer than their own
) WITH (fillfactor = 70);
CREATE INDEX truth_by_change ON grading.truth (as_of);
CREATE TABLE grading.payloads (
  raw_sha256 text COLLATE "C" PRIMARY KEY,
  feed text COLLATE "C" NOT NULL,
  received_at bigint NOT NULL -- Unix seconds
);
INSERT INTO grading.meta VALUES -- salts payer tags and hidden prices; it moves with the ledger
  ('payer_secret', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''));
GRANT INSERT ON grading.picks, grading.payloads TO grading_app;
GRANT INSERT, UPDATE ON grading.events, grading.truth TO grading_app;`

const RESERVATIONS = `
CREATE TABLE grading.reservations (
  payment_id text COLLATE "C" PRIMARY KEY,
  serial bigint GENERATED ALWAYS AS IDENTITY, -- the order of one payer's: drawn under the payer's lock
  attempt uuid NOT NULL DEFAULT gen_random_uuid(), -- the call that stored it, which so finds it again where its COMMIT was not answered
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
  CHECK ((state = 'answered') = (answer IS NOT NULL OR answered_by IS NOT NULL))
) WITH (fillfactor = 50);
CREATE INDEX reservations_open ON grading.reservations (serial) WHERE state <> 'answered';
CREATE INDEX reservations_by_expiry ON grading.reservations (expires_at) WHERE state = 'answered';
-- No process can forget these: of one payer, one open payment for one thing, and under one key.
CREATE UNIQUE INDEX reservations_one_open ON grading.reservations (payer, fingerprint)
  WHERE keeps_answer AND state <> 'answered';
CREATE UNIQUE INDEX reservations_one_open_key ON grading.reservations (payer, idempotency_key)
  WHERE keeps_answer AND state <> 'answered' AND idempotency_key IS NOT NULL;
CREATE INDEX reservations_by_fingerprint ON grading.reservations (payer, fingerprint, serial)
  WHERE keeps_answer AND answered_by IS NULL;
CREATE INDEX reservations_by_key ON grading.reservations (payer, idempotency_key, serial)
  WHERE idempotency_key IS NOT NULL;
CREATE INDEX reservations_by_origin ON grading.reservations (answered_by) WHERE answered_by IS NOT NULL;
GRANT INSERT, UPDATE, DELETE ON grading.reservations TO grading_app;`

/** The store on PostgreSQL. */
export const POSTGRES_LEDGER = {
  schema: 'grading',
  appRole: 'grading_app',
  journals: {
    ledger: {
      noun: 'the ledger',
      originEnding: '',
      fileEnding: '.checkpoint',
      table: 'entries',
      columns: [
        { name: 'event', type: 'bigint', isNullable: true },
        // RFC 8785 JSON in UTF-8: the hashed bytes.
        { name: 'text', type: 'bytea' },
      ],
    },
  },
  // Of several processes one polls (G12).
  migrations: [TABLES, RESERVATIONS, placesSql('grading')],
  // They hold the head's lock, and a paid pick waits for it.
  writesPerCommitMax: 256,
  Unavailable: GradingStoreUnavailable,
  acceptCommand: 'grading accept-backup',
} as const satisfies PostgresStoreKind<'ledger'>
