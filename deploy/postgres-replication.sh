# Lets a standby in, when the volume is new and there is to be one (profile `replicas`).
set -eu
[ -n "${REPLICATION_PASSWORD:-}" ] || exit 0
psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set password="$REPLICATION_PASSWORD" <<'SQL'
CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'password';
SQL
echo 'host replication replicator all scram-sha-256' >> "$PGDATA/pg_hba.conf"
