/** Accepts a store on PostgreSQL as it is found. PostgreSQL has backups of its own. */
import { isContinued } from './checkpoint-file.ts'
import { eachJournalInTurn, openCommittedJournal } from './journal.ts'
import { PostgresConnection } from './postgres-connection.ts'
import { PostgresDoor } from './postgres-door.ts'
import { UPKEEP_ANSWER_MS } from './postgres-line.ts'
import { countLeaves, type PostgresReaderOptions, readHeads } from './postgres-store.ts'
import type { PostgresStoreKind } from './postgres-store-kind.ts'
import type { AcceptedJournal } from './sqlite-backup.ts'
import { openCheckpointFiles } from './store-kind.ts'

/**
 * Signs the journals as they are found, so that a restored backup opens again on this replica. The entries must have no gaps
 * and match the stored head. Rejects with the service's error.
 */
export async function acceptPostgresBackup<Name extends string>(
  kind: PostgresStoreKind<Name>,
  options: PostgresReaderOptions,
): Promise<Readonly<Record<Name, AcceptedJournal>>> {
  const { Unavailable } = kind
  const door = new PostgresDoor({ answerMs: UPKEEP_ANSWER_MS, ...options, Unavailable })
  await door.acceptTimeline()
  const reader = new PostgresConnection(door, {})
  const source = { kind, rows: reader.tuples }
  try {
    const heads = await readHeads(source)
    const files = openCheckpointFiles(kind, options)
    return await eachJournalInTurn(kind, async (table, name) => {
      const range = await countLeaves(source, table)
      const head = heads[name]
      if (range.size !== head.size || Buffer.compare(range.rootHash(), head.rootHash()) !== 0)
        throw new Unavailable(`${table.noun} has gaps: its entries do not come to its head`)
      const last = files[name].read()
      const signed = last.kind === 'checkpoint' ? last.checkpoint : undefined
      const journal = openCommittedJournal(source.rows, {
        table: `${kind.schema}.${table.table}`,
        head: () => range,
        file: files[name],
      })
      const isSame = signed !== undefined && (await isContinued(journal, signed))
      files[name].write(range)
      return { size: range.size, signedSize: signed?.size, isContinued: isSame }
    })
  } finally {
    await reader.end()
  }
}
