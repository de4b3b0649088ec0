-- What every store of journals has on PostgreSQL, in the store's schema, before its own tables. The service's role runs
-- functions of the owner, and changes no row of a journal.
CREATE TABLE journals ( -- the head of each journal; whoever appends locks its row
  name text COLLATE "C" PRIMARY KEY,
  size bigint NOT NULL CHECK (size >= 0),
  peaks bytea NOT NULL, -- compact range: 32 bytes for each one bit of size, the largest subtree first
  CHECK (octet_length(peaks) = 32 * length(replace((size::bit(64))::text, '0', '')))
);
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a journal only grows' USING ERRCODE = '42501';
END $$;
CREATE FUNCTION take_heads() RETURNS TABLE (name text, size bigint, peaks bytea)
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT name, size, peaks FROM journals ORDER BY name FOR UPDATE
$$;
-- For the functions that append, which are their owner's: whoever else runs it may not.
CREATE FUNCTION grow_journal(journal text, expected_size bigint, appended bigint, new_peaks bytea) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE journals SET size = expected_size + appended, peaks = new_peaks
    WHERE name = journal AND size = expected_size;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the journal has moved on' USING ERRCODE = '40001';
  END IF;
END $$;

CREATE TABLE journal_writers ( -- who lost the answer of its COMMIT finds its group here, and no other's
  writer uuid PRIMARY KEY,
  last_group bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE FUNCTION keep_group(of_writer uuid, number bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE journal_writers SET last_group = number, at = now() WHERE writer = of_writer;
  IF NOT FOUND THEN
    INSERT INTO journal_writers VALUES (of_writer, number);
    -- Of processes that ended, or found their group long ago.
    DELETE FROM journal_writers WHERE at < now() - interval '1 day';
  END IF;
END $$;

CREATE TABLE leases ( -- work that one process does for all; whoever takes it from another moves the epoch on
  name text COLLATE "C" PRIMARY KEY,
  holder text COLLATE "C" NOT NULL,
  epoch bigint NOT NULL,
  ends_at timestamptz NOT NULL
);
-- Takes the lease, or goes on with it: whoever slept over its end, and nobody took it, keeps its epoch. Null while it is another's.
CREATE FUNCTION take_lease(lease text, process text, ttl interval) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE taken bigint;
BEGIN
  INSERT INTO leases AS old VALUES (lease, process, 1, clock_timestamp() + ttl)
    ON CONFLICT (name) DO UPDATE
      SET epoch = old.epoch + (old.holder <> process)::int, holder = process, ends_at = clock_timestamp() + ttl
      WHERE old.holder = process OR old.ends_at < clock_timestamp()
    RETURNING epoch INTO taken;
  RETURN taken;
END $$;
CREATE FUNCTION leave_lease(lease text, process text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  UPDATE leases SET ends_at = '-infinity' WHERE name = lease AND holder = process
$$;
CREATE FUNCTION require_lease(lease text, mine bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  -- Nobody takes it before this transaction ends.
  PERFORM FROM leases WHERE name = lease AND epoch = mine FOR SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'another process took the lease' USING ERRCODE = 'TS001';
  END IF;
END $$;

CREATE TABLE processes ( -- who serves this store; whoever says nothing for ten seconds is forgotten, with all that hangs on its row
  id uuid PRIMARY KEY,
  schema_version bigint NOT NULL, -- of its program
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE FUNCTION see_process(mine uuid, is_new boolean, forgotten_after interval, own_version bigint)
RETURNS TABLE (is_known boolean, living bigint, unix_ms bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  DELETE FROM processes WHERE id IN (
    SELECT id FROM processes WHERE seen_at < clock_timestamp() - forgotten_after FOR UPDATE SKIP LOCKED);
  IF is_new THEN
    -- The answer of its COMMIT may have been lost.
    INSERT INTO processes VALUES (mine, own_version) ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp();
  ELSE
    UPDATE processes SET seen_at = clock_timestamp() WHERE id = mine;
  END IF;
  is_known := FOUND;
  living := (SELECT count(*) FROM processes);
  unix_ms := extract(epoch FROM clock_timestamp()) * 1000;
  RETURN NEXT;
END $$;
CREATE FUNCTION leave_process(mine uuid) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  DELETE FROM processes WHERE id = mine
$$;
-- For a move: whoever serves the store is refused it, and whoever wants to serve it waits until the transaction is over.
CREATE FUNCTION require_nobody(forgotten_after interval) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  LOCK TABLE processes IN SHARE ROW EXCLUSIVE MODE;
  PERFORM FROM processes WHERE seen_at >= clock_timestamp() - forgotten_after;
  IF FOUND THEN
    RAISE EXCEPTION 'another process has this store open' USING ERRCODE = 'TS002';
  END IF;
END $$;
CREATE FUNCTION begin_import(import text, title text) RETURNS void -- unfinished-import.ts
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  INSERT INTO meta (name, value) VALUES ('import ' || import, title) ON CONFLICT (name) DO NOTHING
$$;
CREATE FUNCTION end_import(import text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  DELETE FROM meta WHERE name LIKE 'import ' || import
$$;
-- end of the schema
