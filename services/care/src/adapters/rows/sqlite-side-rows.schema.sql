-- Rows beside the records: the first release's schema.
CREATE TABLE audit_rows (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('accepted', 'rejected')),
  reason TEXT NOT NULL,
  via TEXT NOT NULL,
  actor TEXT,
  uri TEXT
) STRICT;
CREATE INDEX audit_rows_rejected ON audit_rows (sequence) WHERE outcome = 'rejected';
CREATE TABLE mcp_sessions (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  sub TEXT NOT NULL,
  scopes TEXT NOT NULL,
  log_level TEXT,
  created_at_ms INTEGER NOT NULL,
  carried_user INTEGER NOT NULL,
  carried_assistant INTEGER NOT NULL,
  carried_frames INTEGER NOT NULL,
  changes INTEGER NOT NULL, -- how often it was changed
  stream_epoch INTEGER NOT NULL, -- streams so far: the newest alone says what it has carried
  stream_process TEXT, -- that has its stream
  silent_since_ms INTEGER, -- while none has
  seen_at_ms INTEGER NOT NULL -- when it was last in use, or a little later
) STRICT;
CREATE TABLE mcp_subscriptions (
  session INTEGER NOT NULL,
  uri TEXT NOT NULL,
  since INTEGER NOT NULL, -- the place from which on it is told
  PRIMARY KEY (session, uri)
) STRICT, WITHOUT ROWID;
CREATE TABLE mcp_event_key (
  number INTEGER PRIMARY KEY CHECK (number = 1),
  key BLOB NOT NULL -- seals event ids
) STRICT;
CREATE TABLE mcp_unheard (
  uri TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  since_ms INTEGER NOT NULL,
  language TEXT -- if anybody has said it
) STRICT, WITHOUT ROWID;
CREATE TABLE mcp_judged (
  number INTEGER PRIMARY KEY CHECK (number = 1),
  place INTEGER NOT NULL -- before it every correction is heard, or in mcp_unheard
) STRICT;
CREATE TABLE revoked_tokens (
  jti TEXT PRIMARY KEY,
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;
CREATE TABLE read_rows (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  way TEXT NOT NULL,
  outcome TEXT NOT NULL,
  uri TEXT NOT NULL,
  -- The URI up to its patient's slash, care://ann/; of all of an audience, care://.
  whose TEXT NOT NULL AS (substr(uri, 1, instr(uri, '//') + 1 + instr(substr(uri, instr(uri, '//') + 2), '/')))
) STRICT;
CREATE INDEX read_rows_by_uri ON read_rows (uri, sequence);
CREATE INDEX read_rows_by_whose ON read_rows (whose, sequence);
CREATE INDEX read_rows_by_time ON read_rows (at);
CREATE TABLE event_subscriptions (
  id TEXT PRIMARY KEY,
  refresh TEXT NOT NULL,
  sub TEXT NOT NULL,
  scopes TEXT NOT NULL, -- JSON
  jti TEXT,
  patient TEXT NOT NULL,
  domain TEXT,
  receiver TEXT NOT NULL, -- URL and secrets, sealed
  done_to INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  is_active INTEGER NOT NULL,
  last_delivery_ms INTEGER,
  last_error TEXT,
  failed_since_ms INTEGER
) STRICT;
CREATE INDEX event_subscriptions_by_sub ON event_subscriptions (sub);
CREATE TABLE event_receivers (
  receiver TEXT PRIMARY KEY, -- hash of principal, program, URL and secret
  until_ms INTEGER NOT NULL
) STRICT;
-- end of the schema
