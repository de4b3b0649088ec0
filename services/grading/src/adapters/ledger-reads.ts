/** The reads of a ledger that ask its tables: entries and their proofs, picks, and counts. */
import { preimageHash } from '@tallystick/hashchain'
import type { Awaitable, CheckpointReading, Journal } from '@tallystick/journal-store'
import type { GradingStore } from '../domain/grading-store.ts'
import { AUDIT_TEXT } from '../domain/kept-pick.ts'
import { hexOf } from '../domain/ledger-entry.ts'
import type { LedgerSource } from './ledger-sql.ts'
import {
  committedOf,
  type EntryRow,
  entriesBetween,
  entryOf,
  type PickRow,
  pickOf,
} from './stored-rows.ts'
import { verifyLedger } from './verify-ledger.ts'

/** An open journal store, of either engine. */
export type ReadLedger = {
  readonly journals: {
    readonly ledger: Pick<Journal, 'size' | 'rootHash' | 'inclusionProof'>
  }
  readonly checkpointFiles: { readonly ledger: { read(): CheckpointReading } }
  checkpoint(name: 'ledger'): string
  verifierKey(name: 'ledger'): string
}

const COUNTS = `SELECT (SELECT count(*) FROM events),
  (SELECT count(*) FROM picks WHERE event_path <> '${AUDIT_TEXT}')`

/** `look` runs a read once memory is as new as the store. */
export function openLedgerReads(
  source: LedgerSource,
  of: {
    readonly store: ReadLedger
    readonly secret: string
    readonly look: <Result>(run: () => Awaitable<Result>) => Promise<Result>
  },
) {
  const { look, secret, store } = of
  const { ledger } = store.journals
  const { ask, sql } = source
  const pickBy = async (statement: string, value: string | number) => {
    const [row] = await look(() => ask<PickRow>(statement, [value]))
    return row && pickOf(row)
  }
  return {
    hasPayload: async (rawSha256) =>
      (await look(() => ask(sql.hasPayload, [rawSha256]))).length > 0,
    payerTag: async (payer) => preimageHash(`${secret} ${payer}`).slice(0, 32),
    pickByReceipt: (receipt) => pickBy(sql.pickByReceipt, receipt),
    pickBySeq: (seq) => pickBy(sql.pickBySeq, seq),
    picksOf: async (path, afterSeq = -1) =>
      committedOf(await look(() => ask<PickRow>(sql.picksOf, [path, afterSeq]))),
    entry: async (seq) => {
      const [row] = await look(() => ask<EntryRow>(sql.entry, [seq]))
      return row && entryOf(row)
    },
    entries: (range) =>
      entriesBetween(range, (from, to) => look(() => ask<EntryRow>(sql.entries, [from, to]))),
    head: () => look(() => ({ size: ledger.size, rootHash: ledger.rootHash() })),
    checkpoint: () =>
      look(() => ({ note: store.checkpoint('ledger'), verifierKey: store.verifierKey('ledger') })),
    inclusionProof: async (seq, size) =>
      (await look(() => ledger.inclusionProof(seq, size))).map(hexOf),
    counts: async () => {
      const [row] = await look(() => ask<readonly [events: number, picks: number]>(COUNTS))
      const [events = 0, picks = 0] = row ?? []
      return { entries: ledger.size, events, picks }
    },
    verify: () => look(() => verifyLedger(source, store.checkpointFiles.ledger.read())),
  } satisfies Partial<GradingStore>
}
