-- The keys of chains in a file of their own, and copies of them: the first release's schema.
CREATE TABLE chain_keys (
  chain TEXT PRIMARY KEY, -- patient|domain; empty for the key of this file
  key_id TEXT NOT NULL UNIQUE,
  wrapped BLOB NOT NULL -- the key, sealed under one of SEAL_KEYS
) STRICT;
CREATE TABLE erasures (
  chain TEXT PRIMARY KEY, -- patient|domain
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;
-- end of the schema
