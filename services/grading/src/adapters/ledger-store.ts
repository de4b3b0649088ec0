/**
 * The grading store over either engine, opened in sqlite-grading-store.ts and postgres-grading-store.ts. Every write is
 * decided in a transaction in which nobody else appends, so several processes may write. The domain decides what happens
 * to an event.
 */
import {
  type Awaitable,
  type CheckpointReading,
  type Journal,
  whenAnswered,
} from '@tallystick/journal-store'
import { addIngested, NOTHING_INGESTED } from '../domain/advance-event.ts'
import type { GradingStore, IngestBatch, StoredPick } from '../domain/grading-store.ts'
import { AUDIT_TEXT } from '../domain/kept-pick.ts'
import { hexOf } from '../domain/ledger-entry.ts'
import { eventPathOf } from '../domain/markets.ts'
import { cardSource, type Look } from './card-source.ts'
import type { SearchDialect } from './event-search.ts'
import type { LedgerDraft, LedgerTransaction } from './ledger-draft.ts'
import type { LedgerMemory } from './ledger-memory.ts'
import type { LedgerSource } from './ledger-sql.ts'
import { ingestSlice, isCounting, keepPick, pathsWithPicks } from './ledger-writes.ts'
import {
  committedOf,
  type EntryRow,
  entriesBetween,
  entryOf,
  type PickRow,
  pickOf,
} from './stored-rows.ts'
import { verifyLedger } from './verify-ledger.ts'

/** A ledger that an engine has open. */
type LedgerEngine = {
  readonly store: {
    readonly journals: {
      readonly ledger: Pick<Journal, 'size' | 'rootHash' | 'inclusionProof'>
    }
    readonly checkpointFiles: { readonly ledger: { read(): CheckpointReading } }
    checkpoint(name: 'ledger'): string
    verifierKey(name: 'ledger'): string
    write<Result>(run: (transaction: LedgerTransaction) => Awaitable<Result>): Promise<Result>
    close(): Promise<void>
  }
  readonly source: LedgerSource
  readonly memory: LedgerMemory
  readonly search: SearchDialect
  /** Observations in one write: others wait for it. */
  readonly observationsPerWrite: number
  /** Observations below which a call of `ingest` is small. */
  readonly observationsGathered?: number
  /** Brings memory up to date where nothing announces other processes' writes. */
  readonly freshen: () => void
}

type Parts = Pick<LedgerEngine, 'memory' | 'store'>

/** Runs a write on a draft of the memory, which adopts the draft when the write is committed. */
async function writeOn<Result>(
  { memory, store }: Parts,
  run: (draft: LedgerDraft) => Awaitable<Result>,
): Promise<Result> {
  let used: LedgerDraft | undefined
  const result = await store.write((transaction) =>
    whenAnswered([memory.draftOf(transaction)], ([draft]) => run((used = draft))),
  )
  if (used !== undefined) memory.take(used)
  return result
}

async function ingest(engine: LedgerEngine, { observations, ...batch }: IngestBatch) {
  const { observationsPerWrite, source } = engine
  const { withPicks } = source.sql
  let outcome = NOTHING_INGESTED
  for (let from = 0; from < observations.length; from += observationsPerWrite) {
    const slice = observations.slice(from, from + observationsPerWrite)
    const paths = slice.map(({ event }) => event.path)
    const added = await writeOn(engine, (draft) =>
      whenAnswered([draft.prepare(paths)], () =>
        whenAnswered(
          [
            withPicks === undefined
              ? draft.preparePicks(pathsWithPicks(draft, batch, slice))
              : draft.prepareWithoutPicks(paths, withPicks),
          ],
          () => ingestSlice(draft, batch, slice),
        ),
      ),
    )
    outcome = addIngested(outcome, added)
  }
  // The next slice is read in its own iteration.
  await source.pause()
  return outcome
}

function keep(parts: Parts, pick: Omit<StoredPick, 'seq'>, commit: boolean) {
  const path = eventPathOf(pick.opening.market)
  return writeOn(parts, (draft) =>
    whenAnswered([draft.prepare([path], pick.paymentId)], () => {
      const isCounted = commit && isCounting(draft.event(path))
      return whenAnswered([draft.preparePicks(isCounted ? [path] : [])], () =>
        keepPick(draft, pick, commit),
      )
    }),
  )
}

const COUNTS = `SELECT (SELECT count(*) FROM events),
  (SELECT count(*) FROM picks WHERE event_path <> '${AUDIT_TEXT}')`

/** The reads that query the ledger's tables: entries and their proofs, picks, and counts. */
function readsOf({ source, store }: LedgerEngine, look: Look) {
  const { ledger } = store.journals
  const { ask, sql } = source
  const pickBy = async (statement: string, value: string | number) => {
    const [row] = await look(() => ask<PickRow>(statement, [value]))
    return row && pickOf(row)
  }
  return {
    hasPayload: async (rawSha256) =>
      (await look(() => ask(sql.hasPayload, [rawSha256]))).length > 0,
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
      look(() => ({
        size: ledger.size,
        note: store.checkpoint('ledger'),
        verifierKey: store.verifierKey('ledger'),
      })),
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

export function createLedgerStore(engine: LedgerEngine): GradingStore {
  const { freshen, source, store } = engine
  const look: Look = async (run) => {
    freshen()
    return run()
  }
  return {
    ...cardSource(engine, look),
    ...readsOf(engine, look),
    ingest: (batch) => ingest(engine, batch),
    ingestedAtOnce: engine.observationsGathered ?? 0,
    markPayload: ({ rawSha256, feed, receivedAtSeconds }) =>
      store.write(({ send }) => {
        send(source.sql.markPayload, [rawSha256, feed, Math.floor(receivedAtSeconds)])
      }),
    keepPick: (pick, commit) => keep(engine, pick, commit),
    close: () => store.close(),
  }
}
