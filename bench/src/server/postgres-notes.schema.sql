CREATE TABLE notes (at bigint PRIMARY KEY, leaf_hash bytea NOT NULL, text bytea NOT NULL);
CREATE TABLE notes_nodes (place bigint PRIMARY KEY, hash bytea NOT NULL);
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON notes EXECUTE FUNCTION keep();
CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON notes_nodes EXECUTE FUNCTION keep();
INSERT INTO journals VALUES ('notes', 0, '');
-- What a commit alone costs.
CREATE TABLE bare (text text);
GRANT INSERT ON bare TO notes_app;
