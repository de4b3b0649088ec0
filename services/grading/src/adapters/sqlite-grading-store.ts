/**
 * The grading store on SQLite. Several processes may have one file open: each write brings its memory up to date inside its
 * transaction, and each read does where another process has written. What happens to an event is the domain's matter.
 */
import { randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { createNoteSigner, preimageHash } from '@tallystick/hashchain'
import type { Clock } from '@tallystick/service-kit'
import { addIngested, advanceEvent, NOTHING_INGESTED, recount } from '../domain/advance-event.ts'
import { commitmentOf } from '../domain/committed-pick.ts'
import type {
  GradingStore,
  IngestBatch,
  IngestOutcome,
  KeepPickOutcome,
  StoredPick,
} from '../domain/grading-store.ts'
import { saltEntry } from '../domain/ledger-entry.ts'
import { eventPathOf } from '../domain/markets.ts'
import type { Observation } from '../domain/observation.ts'
import {
  keepCheckpoint,
  readCheckpointFile,
  requireContinued,
  signHead,
} from './checkpoint-file.ts'
import { nextIteration, openGradingDatabase, prepareQuery, reading } from './sqlite-database.ts'
import { openEventReader } from './sqlite-events.ts'
import { openEntryReader, openLedgerTree, openPickTable, openTruthTable } from './sqlite-ledger.ts'
import { verifyLedger } from './sqlite-verify.ts'
import { openWriteQueue } from './sqlite-write-queue.ts'

/** Observations in one write: some 50 ms, so that requests are served during an import. */
const OBSERVATIONS_PER_WRITE = 500
/** Searches in one iteration of the event loop, some 10 ms where their words are common: an audit may ask for a thousand names. */
const SEARCHES_PER_ITERATION = 5

export type SqliteGradingStoreOptions = {
  readonly databasePath: string
  readonly clock: Clock
  /** Ed25519 seed of the checkpoints, 32 bytes. */
  readonly checkpointSeed: Uint8Array
  /** The ledger's name in its checkpoints, `grading.example.org/ledger`. */
  readonly origin: string
  /** `unchecked` opens also what its last checkpoint refuses: for verifying it. */
  readonly checkpoint?: 'checked' | 'unchecked'
  /** How long a write waits for another process's, milliseconds. */
  readonly busyTimeoutMs?: number
}

/** The ledger's secret, made with the file: payer tags and hidden prices are salted with it. */
function ledgerSecret(database: DatabaseSync): string {
  const find = database.prepare("SELECT value FROM meta WHERE name = 'payer_secret'")
  // Written once: a write at every start would wait for other writers.
  if (find.get() === undefined)
    database
      .prepare("INSERT OR IGNORE INTO meta (name, value) VALUES ('payer_secret', ?)")
      .run(randomBytes(32).toString('hex'))
  return String(find.get()?.['value'])
}

function partsOf(database: DatabaseSync, { clock }: Pick<SqliteGradingStoreOptions, 'clock'>) {
  const tree = openLedgerTree(database)
  const events = openEventReader(database)
  const picks = openPickTable(database)
  const table = openTruthTable(database, () => tree.size)
  const dirty = new Set<string>()
  const version = prepareQuery<readonly [number]>(database, 'PRAGMA data_version')
  let [seenVersion, seenMs] = [version.get()?.[0], 0]
  const reload = (): void => {
    dirty.clear()
    tree.reload()
    events.forget()
    table.reload()
  }
  /** SQLite itself says whether another connection has written. */
  const catchUp = (): void => {
    const current = version.get()?.[0]
    if (current === seenVersion) return
    seenVersion = current
    reload()
  }
  const queue = openWriteQueue({
    database,
    before: catchUp,
    commit: () => {
      table.save(dirty)
      dirty.clear()
      tree.save()
    },
    undo: reload,
  })
  return {
    database,
    tree,
    events,
    picks,
    table,
    dirty,
    queue,
    secret: ledgerSecret(database),
    catchUp,
    /** For reads, at most once a millisecond: asking SQLite costs more than a grade. */
    freshen: () => {
      const now = clock.unixMs()
      if (now === seenMs) return
      seenMs = now
      reading(catchUp)
    },
  }
}

type Parts = ReturnType<typeof partsOf>

function openParts(options: SqliteGradingStoreOptions): Parts {
  const { checkpoint = 'checked', checkpointSeed, databasePath } = options
  const database = openGradingDatabase(databasePath, options.busyTimeoutMs)
  try {
    // Before the tree is read: see requireContinued.
    const last = readCheckpointFile(databasePath, checkpointSeed)
    const parts = reading(() => partsOf(database, options))
    if (checkpoint === 'checked') reading(() => requireContinued(last, parts.tree))
    return parts
  } catch (error) {
    database.close()
    throw error
  }
}

function ingestSlice(
  parts: Parts,
  batch: Omit<IngestBatch, 'observations'>,
  observations: readonly Observation[],
): IngestOutcome {
  const { tree, events, picks, secret, table, dirty } = parts
  let outcome = NOTHING_INGESTED
  for (const observation of observations) {
    const { path } = observation.event
    let event: number | undefined
    const advanced = advanceEvent({
      state: events.read(path),
      picks: () => picks.committedOn(path),
      observation,
      batch,
      truth: table.truth,
      append: (entry) => {
        event ??= events.idFor(observation.event)
        const salted = saltEntry(entry, { secret, seq: tree.size })
        return tree.append({ entry: salted, event })
      },
    })
    outcome = addIngested(outcome, advanced.outcome)
    if (advanced.state === undefined) continue
    events.write(advanced.state)
    for (const key of advanced.truthKeys) dirty.add(key)
  }
  return outcome
}

function keepPick(parts: Parts, pick: Omit<StoredPick, 'seq'>, commit: boolean): KeepPickOutcome {
  const { tree, events, picks, table, dirty } = parts
  const known = picks.byPayment(pick.paymentId)
  if (known !== undefined) return { kind: 'known', pick: known }
  if (!commit) {
    picks.insert(pick)
    return { kind: 'kept', pick }
  }
  const path = eventPathOf(pick.opening.market)
  const { receivedAtSeconds } = pick.opening
  const commitment = commitmentOf(pick.opening)
  const { seq } = tree.append({
    entry: { type: 'pick', commitment, receivedAtSeconds },
    event: null,
  })
  const state = events.read(path)
  const kept = { ...pick, seq }
  const isSettled = state !== undefined && state.outcomes.length > 0
  const beforePicks = isSettled ? picks.committedOn(path) : []
  picks.insert(kept)
  if (isSettled) {
    const afterPicks = picks.committedOn(path)
    const change = { before: state, after: state, beforePicks, afterPicks }
    for (const key of recount(table.truth, change)) dirty.add(key)
  }
  return { kind: 'kept', pick: kept }
}

function openReads({ database, tree, picks }: Parts) {
  const payload = prepareQuery<readonly [number]>(
    database,
    'SELECT 1 FROM payloads WHERE raw_sha256 = ?',
  )
  const events = prepareQuery<readonly [number]>(database, 'SELECT count(*) FROM events')
  return {
    hasPayload: (rawSha256: string) => payload.get(rawSha256) !== undefined,
    counts: () => ({
      entries: tree.size,
      events: events.get()?.[0] ?? 0,
      picks: picks.count(),
    }),
  }
}

/**
 * Opens the store. Throws GradingStoreUnavailable for a file that cannot be opened or is another program's, and for a ledger
 * that does not go on from its last signed checkpoint.
 */
export function openSqliteGradingStore(options: SqliteGradingStoreOptions): GradingStore {
  const parts = openParts(options)
  const { database, tree, events, picks, table, queue, secret, freshen } = parts
  const { checkpointSeed, databasePath } = options
  const signer = createNoteSigner({ keyName: options.origin, seed: checkpointSeed })
  const markPayload = database.prepare(
    'INSERT OR IGNORE INTO payloads (raw_sha256, feed, received_at) VALUES (?, ?, ?)',
  )
  const reads = openReads(parts)
  const entries = openEntryReader(database)
  const read = async <Result>(run: () => Result): Promise<Result> => {
    freshen()
    return reading(run)
  }
  const note = (): string => signHead(signer, { size: tree.size, rootHash: tree.rootHash() })
  let searches = 0

  return {
    events: (paths) => read(() => paths.map((path) => events.read(path))),
    searchEvents: async (search) => {
      searches += 1
      if (searches % SEARCHES_PER_ITERATION === 0) await nextIteration()
      return read(() => events.search(search))
    },
    ingest: async ({ observations, ...batch }) => {
      let outcome = NOTHING_INGESTED
      for (let from = 0; from < observations.length; from += OBSERVATIONS_PER_WRITE) {
        const slice = observations.slice(from, from + OBSERVATIONS_PER_WRITE)
        const added = await queue.write(() => ingestSlice(parts, batch, slice))
        outcome = addIngested(outcome, added)
      }
      return outcome
    },
    hasPayload: (rawSha256) => read(() => reads.hasPayload(rawSha256)),
    markPayload: ({ rawSha256, feed, receivedAtSeconds }) =>
      queue.write(() => {
        markPayload.run(rawSha256, feed, Math.floor(receivedAtSeconds))
      }),
    keepPick: (pick, commit) => queue.write(() => keepPick(parts, pick, commit)),
    payerTag: async (payer) => preimageHash(`${secret} ${payer}`).slice(0, 32),
    pickByReceipt: (receipt) => read(() => picks.byReceipt(receipt)),
    pickByPayment: (paymentId) => read(() => picks.byPayment(paymentId)),
    pickBySeq: (seq) => read(() => picks.bySeq(seq)),
    picksOf: (path) => read(() => picks.committedOn(path)),
    entry: (seq) => read(() => entries.one(seq)),
    entries: (range) => entries.range(range),
    head: () => read(() => ({ size: tree.size, rootHash: tree.rootHash() })),
    checkpoint: () => read(() => ({ note: note(), verifierKey: signer.verifierKey })),
    inclusionProof: (seq, size) =>
      read(() => tree.inclusionProof(seq, size).map((hash) => Buffer.from(hash).toString('hex'))),
    truth: () => read(() => table.truth),
    counts: () => read(reads.counts),
    verify: async () => {
      freshen()
      return verifyLedger(database, readCheckpointFile(databasePath, checkpointSeed))
    },
    close: async () => {
      try {
        queue.close()
        reading(parts.catchUp)
        reading(() => keepCheckpoint(databasePath, { tree, seed: checkpointSeed, note }))
      } finally {
        database.close()
      }
    },
  }
}
