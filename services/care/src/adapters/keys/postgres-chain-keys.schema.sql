-- The keys of chains in a PostgreSQL of their own. Whoever the URL names owns them.
CREATE TABLE chain_keys (
  chain text COLLATE "C" PRIMARY KEY, -- patient|domain; empty for the key of this place
  key_id text COLLATE "C" NOT NULL UNIQUE,
  wrapped bytea NOT NULL -- the key, sealed under one of SEAL_KEYS
);
CREATE TABLE erasures (
  chain text COLLATE "C" PRIMARY KEY, -- patient|domain
  at text NOT NULL,
  actor text NOT NULL,
  reason text NOT NULL
);
-- end of the schema
