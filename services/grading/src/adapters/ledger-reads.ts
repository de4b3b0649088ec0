/** What is read of a ledger alike on either engine: entries and their proofs, picks, and counts. */
import { preimageHash } from '@tallystick/hashchain'
import type { CheckpointReading, Journal } from '@tallystick/journal-store'
import type { GradingStore } from '../domain/grading-store.ts'
import { AUDIT_TEXT } from '../domain/kept-pick.ts'
import type { LedgerSource } from './ledger-source.ts'
import {
  committedOf,
  type EntryColumns,
  entriesBetween,
  entryOf,
  entryRow,
  PICK_COLUMNS,
  type PickColumns,
  pickOf,
  pickRow,
} from './stored-rows.ts'
import { verifyLedger } from './verify-ledger.ts'

/** An open journal store, of either engine. */
type LedgerStore = {
  readonly journals: {
    readonly ledger: Pick<Journal, 'size' | 'rootHash' | 'inclusionProof'>
  }
  readonly checkpointFiles: { readonly ledger: { read(): CheckpointReading } }
  checkpoint(name: 'ledger'): string
  verifierKey(name: 'ledger'): string
}

const COUNTS = `SELECT (SELECT count(*) FROM events) AS events,
  (SELECT count(*) FROM picks WHERE event_path <> '${AUDIT_TEXT}') AS picks`

/** `look` runs what reads memory, once it is as new as what is stored. */
export function openLedgerReads(
  source: LedgerSource,
  of: {
    readonly store: LedgerStore
    readonly secret: string
    readonly look: <Result>(run: () => Result | Promise<Result>) => Promise<Result>
  },
) {
  const { look, secret, store } = of
  const { ledger } = store.journals
  const { names, read } = source
  const entry = `SELECT ${names.seq} AS seq, text, ${names.hash} AS hash FROM entries WHERE ${names.seq}`
  const picksWhere = async (where: string, values: readonly (string | number)[]) =>
    (await read<PickColumns>(`SELECT ${PICK_COLUMNS} FROM picks WHERE ${where}`, values)).map(
      pickRow,
    )
  const pickBy = async (where: string, value: string | number) => {
    const [row] = await picksWhere(where, [value])
    return row && pickOf(row)
  }
  return {
    hasPayload: async (rawSha256) =>
      (await read('SELECT 1 AS found FROM payloads WHERE raw_sha256 = $1', [rawSha256])).length > 0,
    payerTag: async (payer) => preimageHash(`${secret} ${payer}`).slice(0, 32),
    pickByReceipt: (receipt) => pickBy('receipt = $1', receipt),
    pickByPayment: (paymentId) => pickBy('payment_id = $1', paymentId),
    pickBySeq: (seq) => pickBy('seq = $1', seq),
    picksOf: async (path, afterSeq = -1) =>
      committedOf(await picksWhere('event_path = $1 AND seq > $2 ORDER BY seq', [path, afterSeq])),
    entry: async (seq) => {
      const [row] = await read<EntryColumns>(`${entry} = $1`, [seq])
      return row && entryOf(entryRow(row))
    },
    entries: (range) =>
      entriesBetween(range, async (from, to) => {
        const text = `${entry} >= $1 AND ${names.seq} < $2 ORDER BY ${names.seq}`
        return (await read<EntryColumns>(text, [from, to])).map(entryRow)
      }),
    head: () => look(() => ({ size: ledger.size, rootHash: ledger.rootHash() })),
    checkpoint: () =>
      look(() => ({ note: store.checkpoint('ledger'), verifierKey: store.verifierKey('ledger') })),
    inclusionProof: async (seq, size) =>
      (await look(() => ledger.inclusionProof(seq, size))).map((hash) =>
        Buffer.from(hash).toString('hex'),
      ),
    counts: async () => {
      const [row] = await read<{ readonly events: number; readonly picks: number }>(COUNTS)
      return { entries: ledger.size, events: row?.events ?? 0, picks: row?.picks ?? 0 }
    },
    verify: () => look(() => verifyLedger(source, store.checkpointFiles.ledger.read())),
  } satisfies Partial<GradingStore>
}
