-- As sqlite-grants.schema.sql.
CREATE TABLE kept (
  model text NOT NULL,
  id text NOT NULL,
  payload text NOT NULL,
  grant_id text,
  uid text,
  rotations integer,
  expires_at double precision,
  consumed_at double precision,
  consumed_by text,
  added bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  UNIQUE (model, id)
);
CREATE INDEX kept_by_grant ON kept (grant_id) WHERE grant_id IS NOT NULL;
CREATE INDEX kept_by_uid ON kept (model, uid) WHERE uid IS NOT NULL;
CREATE INDEX kept_by_end ON kept (expires_at) WHERE expires_at IS NOT NULL;
-- In a file of their own where the grants are in SQLite.
CREATE TABLE signing_keys (
  kid text PRIMARY KEY,
  jwk text NOT NULL,
  added_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE cookie_keys (secret text PRIMARY KEY);
-- end of the schema
