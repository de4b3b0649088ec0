-- What oidc-provider must remember: sessions, codes, grants, refresh tokens, registered clients.
CREATE TABLE IF NOT EXISTS kept (
  model TEXT NOT NULL,
  id TEXT NOT NULL,
  payload TEXT NOT NULL, -- JSON
  grant_id TEXT,
  uid TEXT,
  expires_at REAL, -- Unix seconds
  consumed_at INTEGER,
  PRIMARY KEY (model, id)
) STRICT;
CREATE INDEX IF NOT EXISTS kept_by_grant ON kept (grant_id) WHERE grant_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS kept_by_uid ON kept (model, uid) WHERE uid IS NOT NULL;
CREATE INDEX IF NOT EXISTS kept_by_end ON kept (expires_at) WHERE expires_at IS NOT NULL;
