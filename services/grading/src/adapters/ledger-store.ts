/**
 * The grading store over either engine, opened in sqlite-grading-store.ts and postgres-grading-store.ts. Every write is
 * decided in a transaction in which nobody else appends, so several processes may write. The domain decides what happens
 * to an event.
 */
import { type CheckpointReading, type Store, UNFINISHED_IMPORTS } from '@tallystick/journal-store'
import { addIngested, NOTHING_INGESTED } from '../domain/closes/advance-event.ts'
import { AUDIT_TEXT } from '../domain/closes/committed-pick.ts'
import { decideIngest, decidePick, type LedgerWrite } from '../domain/closes/decide-ledger.ts'
import type {
  GradingStore,
  IngestBatch,
  IngestOutcome,
  StoredPick,
} from '../domain/closes/grading-store.ts'
import { toHex } from '../domain/closes/ledger-entry.ts'
import { eventPathIn } from '../domain/markets/markets.ts'
import type { SearchDialect } from './event-search.ts'
import { type FiledEvents, type Filing, openFiling } from './filing.ts'
import { cardSource, type Freshen, type LedgerDraft, type LedgerMemory } from './ledger-memory.ts'
import type { LedgerSource } from './ledger-sql.ts'
import { POLLER } from './polled-store.ts'
import {
  type EntryRow,
  entriesBetween,
  type PickRow,
  readCommitted,
  readEntry,
  readPick,
} from './stored-rows.ts'
import { verifyLedger } from './verify-ledger.ts'

/** A ledger that an engine has open. */
type LedgerEngine = {
  readonly store: Pick<
    Store<'ledger', LedgerDraft, LedgerWrite>,
    'write' | 'journals' | 'close'
  > & {
    readonly checkpointFiles: { readonly ledger: { read(): CheckpointReading } }
  }
  readonly source: LedgerSource
  readonly memory: LedgerMemory
  readonly search: SearchDialect
  /** Observations in one write: others wait for it. */
  readonly observationsPerWrite: number
  /** Observations below which a call of `ingest` is small. */
  readonly observationsGathered?: number
  readonly freshen: Freshen
}

type Parts = Pick<LedgerEngine, 'memory' | 'store'>

/** Refuses a write of a process that polled until another one took that over. */
function requirePoller(
  { run }: { readonly run: (text: string, values: readonly unknown[]) => void },
  epoch: number | undefined,
): void {
  if (epoch !== undefined) run('SELECT require_lease($1, $2)', [POLLER, epoch])
}

type FiledSlice = FiledEvents & { readonly outcome: IngestOutcome }

/** Decides a slice of observations in a group of writes, and appends its entries; undefined if it must be matched again. */
const ingestSlice = (
  { memory: { secret }, store }: Parts,
  filing: Filing,
  { observations, ...batch }: IngestBatch,
): Promise<FiledSlice | undefined> =>
  store.write(
    async (tx) => {
      const { append, memory, remember, rows, size } = tx
      requirePoller(tx, batch.pollerEpoch)
      const { lastEventId } = memory
      if (await filing.mayBeFiled(observations, { lastEventId, rows })) return undefined
      const decision = decideIngest({
        batch,
        found: memory,
        observations,
        secret,
        size: size('ledger'),
      })
      const ids = memory.assignIds(decision)
      for (const { leafHash, path, text } of decision.entries)
        append('ledger', leafHash, [path === undefined ? null : (ids.get(path) ?? null), text])
      remember(() => memory.addIngested(decision, ids))
      return { outcome: decision.outcome, ids: [...ids.values()], lastEventId }
    },
    { kind: 'ingest', batch, observations },
  )

async function ingest(engine: LedgerEngine, { observations, ...batch }: IngestBatch) {
  const { observationsPerWrite } = engine
  const filing = openFiling(batch.matchedAt)
  let outcome = NOTHING_INGESTED
  for (let from = 0; from < observations.length; from += observationsPerWrite) {
    const slice = observations.slice(from, from + observationsPerWrite)
    const ingested = await ingestSlice(engine, filing, { ...batch, observations: slice })
    if (ingested === undefined) return { ...outcome, unmatched: observations.length - from }
    filing.filed(ingested)
    outcome = addIngested(outcome, ingested.outcome)
  }
  return outcome
}

function keepPick({ store }: Parts, pick: Omit<StoredPick, 'seq'>, commit: boolean) {
  const { paymentId } = pick
  return store.write(
    ({ append, memory, remember, size }) => {
      const known = memory.pickOfPayment(paymentId)
      const decision = decidePick({ commit, found: memory, known, pick, size: size('ledger') })
      if (decision.entry !== undefined)
        append('ledger', decision.entry.leafHash, [null, decision.entry.text])
      remember(() => memory.addPick(decision))
      return decision.pick
    },
    { kind: 'pick', path: eventPathIn(pick.opening.market), paymentId, commit },
  )
}

const COUNTS = `SELECT (SELECT count(*) FROM events),
  (SELECT count(*) FROM picks WHERE event_path <> '${AUDIT_TEXT}')`

/** The reads that query the ledger's tables: entries and their proofs, picks, and counts. */
function createReads({ freshen, source, store }: LedgerEngine) {
  const { ledger } = store.journals
  const { sql } = source
  const rows: typeof source.rows = async (text, values) => {
    await freshen()
    return source.rows(text, values)
  }
  const pickBy = async (statement: string, value: string | number) => {
    const [row] = await rows<PickRow>(statement, [value])
    return row && readPick(row)
  }
  return {
    lastEventId: async () => (await rows<readonly [number]>(sql.lastEvent))[0]?.[0] ?? 0,
    hasPayload: async (rawSha256) => (await rows(sql.hasPayload, [rawSha256])).length > 0,
    unfinishedImports: async () => (await rows<readonly [string]>(UNFINISHED_IMPORTS)).flat(),
    pickByReceipt: (receipt) => pickBy(sql.pickByReceipt, receipt),
    pickBySeq: (seq) => pickBy(sql.pickBySeq, seq),
    readEventPicks: async (path, afterSeq = -1) =>
      readCommitted(await rows<PickRow>(sql.eventPicks, [path, afterSeq])),
    entry: async (seq) => {
      const [row] = await rows<EntryRow>(sql.entry, [seq])
      return row && readEntry(row)
    },
    entries: (range) =>
      entriesBetween(range, (from, to) => rows<EntryRow>(sql.entries, [from, to])),
    head: async () => {
      await freshen()
      return { size: ledger.size, rootHash: ledger.rootHash() }
    },
    checkpoint: async () => {
      await freshen()
      return {
        size: ledger.size,
        note: ledger.checkpoint(),
        verifierKey: ledger.verifierKey,
      }
    },
    inclusionProof: async (seq, size) => {
      await freshen()
      return (await ledger.inclusionProof(seq, size)).map(toHex)
    },
    counts: async () => {
      const [row] = await rows<readonly [events: number, picks: number]>(COUNTS)
      const [events = 0, picks = 0] = row ?? []
      return { entries: ledger.size, events, picks }
    },
    verify: async () => {
      await freshen()
      return verifyLedger(source, store.checkpointFiles.ledger.read())
    },
  } satisfies Partial<GradingStore>
}

export function createLedgerStore(engine: LedgerEngine): GradingStore {
  const { freshen, source, store } = engine
  return {
    ...cardSource(engine, freshen),
    ...createReads(engine),
    ingest: (batch) => ingest(engine, batch),
    ingestedAtOnce: engine.observationsGathered ?? 0,
    markPayload: ({ rawSha256, feed, pollerEpoch, receivedAtSeconds }) =>
      store.write((tx) => {
        requirePoller(tx, pollerEpoch)
        tx.run(source.sql.markPayload, [rawSha256, feed, Math.floor(receivedAtSeconds)])
      }),
    beginImport: (name, file) =>
      store.write(({ run }) => run(source.sql.imports.begin, [name, file])),
    endImport: (name) => store.write(({ run }) => run(source.sql.imports.end, [name])),
    keepPick: (pick, commit) => keepPick(engine, pick, commit),
    close: () => store.close(),
  }
}
