-- Payments under way and their answers, in a file beside the ledger: the first release's schema.
CREATE TABLE reservations (
  payment_id TEXT PRIMARY KEY,
  attempt TEXT NOT NULL, -- the call that stored it
  owner TEXT NOT NULL, -- the process that does its work
  payer TEXT NOT NULL, -- network and account
  fingerprint TEXT NOT NULL,
  idempotency_key TEXT,
  keeps_answer INTEGER NOT NULL CHECK (keeps_answer IN (0, 1)),
  state TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'answered')),
  expires_at REAL NOT NULL, -- Unix seconds
  body TEXT NOT NULL, -- payment and subject, JSON; the amount as text
  request TEXT, -- while there is no answer
  answer TEXT,
  answered_by TEXT, -- payment_id of the row whose answer this one was given
  is_delivered INTEGER NOT NULL DEFAULT 0 CHECK (is_delivered IN (0, 1)),
  guesses TEXT -- requests for something else under it, by the network of their sender: pairs, JSON
) STRICT;
CREATE INDEX reservations_open ON reservations (payment_id) WHERE state <> 'answered';
CREATE INDEX reservations_by_expiry ON reservations (expires_at) WHERE state = 'answered';
CREATE INDEX reservations_unsettled ON reservations (payer) WHERE state = 'reserved';
CREATE INDEX reservations_by_fingerprint ON reservations (payer, fingerprint) WHERE keeps_answer AND answered_by IS NULL;
CREATE INDEX reservations_by_key ON reservations (payer, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX reservations_by_origin ON reservations (answered_by) WHERE answered_by IS NOT NULL;
-- end of the schema
