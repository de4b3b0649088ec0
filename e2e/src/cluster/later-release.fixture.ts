// Preloaded into a program of care or grading, makes it a later release: its schema has as many steps more as this file's URL says.
import { POSTGRES_RECORDS } from '../../../services/care/src/adapters/schemas/postgres-record-database.ts'
import { POSTGRES_LEDGER } from '../../../services/grading/src/adapters/postgres-schema.ts'

/** For each table of the schema, whatever statements read and write it. */
const changeTables = (change: string): string => `
DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
    EXECUTE format('ALTER TABLE %I ${change}', name);
  END LOOP;
END $$`

/** It brings a column that stays, and one that is there only until the release before is gone. */
const step = (at: number) => ({
  expand: changeTables(
    `ADD COLUMN new_${at} bigint NOT NULL DEFAULT 0, ADD COLUMN passing_${at} bigint`,
  ),
  contract: changeTables(`DROP COLUMN passing_${at}`),
})

const steps = Number(new URL(import.meta.url).searchParams.get('steps'))
for (const kind of [POSTGRES_RECORDS, POSTGRES_LEDGER]) {
  const added = Array.from({ length: steps }, (_, at) => step(at))
  Object.defineProperty(kind, 'migrations', { value: [...kind.migrations, ...added] })
}
