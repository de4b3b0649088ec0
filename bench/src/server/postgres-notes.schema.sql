CREATE TABLE notes (at bigint PRIMARY KEY, leaf_hash bytea NOT NULL, text bytea NOT NULL);
CREATE TABLE notes_nodes (place bigint PRIMARY KEY, hash bytea NOT NULL);
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON notes EXECUTE FUNCTION keep();
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON notes_nodes EXECUTE FUNCTION keep();
INSERT INTO journals VALUES ('notes', 0, '');
CREATE FUNCTION append_notes(
  expected_size bigint, new_peaks bytea, node_hashes bytea[], leaf_hashes bytea[], texts bytea[]
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM grow_journal('notes', expected_size, cardinality(leaf_hashes), new_peaks);
  INSERT INTO notes SELECT expected_size + n - 1, leaf, text
    FROM unnest(leaf_hashes, texts) WITH ORDINALITY AS entries (leaf, text, n);
  INSERT INTO notes_nodes SELECT expected_size / 256 + n - 1, hash
    FROM unnest(node_hashes) WITH ORDINALITY AS nodes (hash, n);
END $$;
-- What a commit alone costs.
CREATE TABLE bare (text text);
GRANT INSERT ON bare TO notes_app;
