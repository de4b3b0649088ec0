/** As sqlite-recount.ts on PostgreSQL, under the lock of the head: of several processes one counts. */
import type {
  openPostgresJournalStore,
  PostgresTransaction,
} from '@tallystick/journal-store/postgres'
import { eventContribution } from '../domain/event-contribution.ts'
import {
  emptyTruth,
  type MutableTruth,
  TRUTH_RULES,
  TRUTH_RULES_KEY,
  writeCell,
} from '../domain/truth-table.ts'
import { TruthTally } from '../domain/truth-tally.ts'
import { readCommitted, readEvents } from './postgres-events.ts'
import { PUT_CELLS } from './postgres-ledger-memory.ts'
import { PER_SLICE } from './verify-ledger.ts'

type Transaction = PostgresTransaction<'ledger'>
type Store = Awaited<ReturnType<typeof openPostgresJournalStore<'ledger'>>>

const RULES = `SELECT cell FROM grading.truth WHERE key = '${TRUTH_RULES_KEY}'`
const EVENTS = `SELECT id, path FROM grading.events WHERE id > $1 ORDER BY id LIMIT ${PER_SLICE}`

async function counted({ query }: Transaction): Promise<MutableTruth> {
  const tally = new TruthTally()
  for (let last = 0; ; ) {
    const events = await query<{ id: number; path: string }>(EVENTS, [last])
    const paths = events.map(({ path }) => path)
    const [states, picks] = [await readEvents(query, paths), await readCommitted(query, paths)]
    for (const { id, path } of events) {
      tally.add(eventContribution(states.get(path)?.state, picks.get(path) ?? []), 1)
      last = id
    }
    if (events.length < PER_SLICE) break
  }
  const truth = emptyTruth()
  tally.mergeInto(truth)
  return truth
}

async function recount(transaction: Transaction): Promise<void> {
  const { journals, query } = transaction
  // Another process may have been first.
  if ((await query<{ cell: string }>(RULES))[0]?.cell === TRUTH_RULES) return
  const truth = await counted(transaction)
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
