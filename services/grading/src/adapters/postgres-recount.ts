/** As sqlite-recount.ts on PostgreSQL, under the lock of the head: of several processes one counts. */
import type {
  openPostgresJournalStore,
  PostgresTransaction,
} from '@tallystick/journal-store/postgres'
import { TRUTH_RULES, TRUTH_RULES_KEY, writeCell } from '../domain/truth-table.ts'
import { postgresLedgerSource } from './ledger-source.ts'
import { PUT_CELLS } from './postgres-ledger-memory.ts'
import { countTruth } from './verify-ledger.ts'

type Transaction = PostgresTransaction<'ledger'>
type Store = Awaited<ReturnType<typeof openPostgresJournalStore<'ledger'>>>

const RULES = `SELECT cell FROM grading.truth WHERE key = '${TRUTH_RULES_KEY}'`

async function recount(transaction: Transaction): Promise<void> {
  const { journals, query } = transaction
  // Another process may have been first.
  if ((await query<{ cell: string }>(RULES))[0]?.cell === TRUTH_RULES) return
  const truth = await countTruth(postgresLedgerSource(query))
  const cells = new Map<string, string | null>()
  for (const { key } of await query<{ key: string }>('SELECT key FROM grading.truth'))
    cells.set(key, null)
  for (const [key, cell] of [...truth.bands, ...truth.lines]) cells.set(key, writeCell(cell))
  cells.set(TRUTH_RULES_KEY, TRUTH_RULES)
  transaction.send(PUT_CELLS, [[...cells.keys()], [...cells.values()], journals.ledger.size])
}

/** A ledger counted by today's rules costs one look. */
export async function recountOutdated(store: Pick<Store, 'read' | 'write'>): Promise<void> {
  const [row] = await store.read<{ cell: string }>(RULES)
  if (row?.cell !== TRUTH_RULES) await store.write(recount)
}
