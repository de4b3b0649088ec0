-- What oidc-provider must remember: sessions, codes, grants, refresh tokens, registered clients.
CREATE TABLE IF NOT EXISTS kept (
  model TEXT NOT NULL,
  id TEXT NOT NULL,
  payload TEXT NOT NULL, -- JSON
  grant_id TEXT,
  uid TEXT,
  rotations INTEGER, -- how many refresh tokens came before it
  expires_at REAL, -- Unix seconds
  consumed_at REAL, -- Unix seconds
  consumed_by TEXT, -- the request that used it
  added INTEGER PRIMARY KEY, -- in the order in which rows were added
  UNIQUE (model, id)
) STRICT;
CREATE INDEX IF NOT EXISTS kept_by_grant ON kept (grant_id) WHERE grant_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS kept_by_uid ON kept (model, uid) WHERE uid IS NOT NULL;
CREATE INDEX IF NOT EXISTS kept_by_end ON kept (expires_at) WHERE expires_at IS NOT NULL;
-- end of the schema
