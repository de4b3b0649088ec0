// The writing half of the store. Everything that comes in one turn of the event loop goes into one transaction, is fsynced
// once, and only then answered (C14). A failing transaction leaves neither a row nor a leaf behind.
import { hash, randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { type CompactRange, createCompactRange } from '@tallystick/hashchain'
import type { Clock } from '@tallystick/service-kit'
import type { CareRecord, NewRecord } from '../domain/care-record.ts'
import {
  ENTRY_RANDOM_BYTES,
  entryLeafHash,
  nextEntry,
  recordOf,
  requireStorable,
  writeJournalEntry,
} from '../domain/journal-entry.ts'
import {
  type AppendOutcome,
  REPEAT_WAIT_MS,
  RecordStoreUnavailable,
  type RequestKey,
} from '../domain/record-store.ts'
import { AUDIENCES, type Audience } from '../wire/records.ts'
import { readLeaf, readTail } from './sqlite-reads.ts'
import { messageOf } from './sqlite-record-database.ts'
import {
  type ChainRow,
  prepareQuery,
  type Query,
  type RecordStatements,
} from './sqlite-statements.ts'
import { type EntrySeal, slotTextOf } from './store-seal.ts'

/** Writes in one transaction: more would hold up the event loop for more than some 20 ms. */
const COMMIT_WRITES_MAX = 512
/** Writes that may wait; a request holds each, so that this is far above what a server's sockets allow. */
const WAITING_WRITES_MAX = 20_000
/** How long after its window a request is remembered, milliseconds: a clock set back by less does not reopen the window. */
const REQUEST_KEPT_MS = 3_600_000
/** Remembered requests that one transaction deletes, so that none gets long. */
const FORGOTTEN_PER_COMMIT = 1_000

type Journals = Record<Audience, CompactRange>

/** What one write comes to inside its transaction. */
type WriteResult =
  | Exclude<AppendOutcome, { kind: 'repeated' }>
  | { readonly kind: 'known'; readonly record: CareRecord; readonly request: RequestKey }
  /** The request is known, but the version that it made does not hold any more. */
  | { readonly kind: 'known-broken' }

type Write = {
  readonly record: NewRecord
  readonly request: RequestKey | undefined
  readonly resolve: (result: WriteResult) => void
  readonly reject: (error: unknown) => void
}

type Note = {
  readonly macHash: string
  readonly subscribers: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

type AppendOptions = {
  readonly database: DatabaseSync
  readonly statements: RecordStatements
  readonly seal: EntrySeal
  readonly clock: Clock
  readonly journals: Journals
  /** Called after a commit, with the journals that grew. */
  readonly onCommitted: (grown: readonly Audience[]) => void
}

/** [audience, leaf_index, subscribers] */
type RequestRow = readonly [Audience, number, number]

/** The MAC itself is not kept: whoever reads the disk could send the write again. */
const macHashOf = (request: RequestKey): string => hash('sha256', request.mac)

const prepareWrites = (database: DatabaseSync) => ({
  addChain: database.prepare(
    'INSERT INTO chains (patient, domain, audience, latest_version, head_hash) VALUES (?, ?, ?, ?, ?)',
  ),
  moveHead: database.prepare('UPDATE chains SET latest_version = ?, head_hash = ? WHERE id = ?'),
  addRequest: database.prepare(
    'INSERT INTO requests (mac_hash, expires_at_ms, audience, leaf_index, subscribers) VALUES (?, ?, ?, ?, 0)',
  ),
  forget: database.prepare(
    `DELETE FROM requests WHERE rowid IN (SELECT rowid FROM requests WHERE expires_at_ms < ? LIMIT ${FORGOTTEN_PER_COMMIT})`,
  ),
  note: database.prepare('UPDATE requests SET subscribers = ? WHERE mac_hash = ?'),
})

/** Appends in groups, one commit each. */
export class SqliteAppender {
  readonly #options: AppendOptions
  readonly #requestByMac: Query<RequestRow>
  readonly #run: ReturnType<typeof prepareWrites>
  readonly #writes: Write[] = []
  readonly #notes: Note[] = []
  /** Signed requests whose write is done and whose subscribers are not counted yet, by MAC. */
  readonly #uncounted = new Map<string, { readonly done: Promise<void>; settle(): void }>()
  #journals: Journals
  #isFlushDue = false
  #isClosed = false

  constructor(options: AppendOptions) {
    const { database } = options
    this.#options = options
    this.#journals = options.journals
    this.#requestByMac = prepareQuery(
      database,
      'SELECT audience, leaf_index, subscribers FROM requests WHERE mac_hash = ?',
    )
    this.#run = prepareWrites(database)
  }

  /** Head of a journal, as committed. */
  journal(audience: Audience): CompactRange {
    return this.#journals[audience]
  }

  /** Queues a write; resolves when it is durable. A repeated request waits until the first one's subscribers are counted. */
  async append(record: NewRecord, request: RequestKey | undefined): Promise<AppendOutcome> {
    requireStorable(record)
    if (this.#writes.length >= WAITING_WRITES_MAX)
      throw new RecordStoreUnavailable('too many writes are waiting')
    const result = await this.#queued<WriteResult>((settle) =>
      this.#writes.push({ record, request, ...settle }),
    )
    if (result.kind === 'appended' && request !== undefined) this.#awaitCount(request.mac)
    if (result.kind === 'known-broken')
      throw new RecordStoreUnavailable('the version that this request made does not hold any more')
    if (result.kind !== 'known') return result
    await this.#uncounted.get(result.request.mac)?.done
    const subscribers = this.#requestByMac.get(macHashOf(result.request))?.[2] ?? 0
    return { kind: 'repeated', record: result.record, subscribers }
  }

  /** Keeps how many sessions heard of a write. It outlives the process at once, and power loss with the next write. */
  async noteSubscribers(request: RequestKey, subscribers: number): Promise<void> {
    const macHash = macHashOf(request)
    await this.#queued<void>((settle) => this.#notes.push({ macHash, subscribers, ...settle }))
    this.#uncounted.get(request.mac)?.settle()
  }

  /** Commits what waits and takes nothing more. */
  close(): void {
    this.#isClosed = true
    while (this.#writes.length + this.#notes.length > 0) this.#flush()
  }

  #awaitCount(mac: string): void {
    const { promise: done, resolve } = Promise.withResolvers<void>()
    const settle = (): void => {
      cancel()
      this.#uncounted.delete(mac)
      resolve()
    }
    const cancel = this.#options.clock.after(REPEAT_WAIT_MS, settle)
    this.#uncounted.set(mac, { done, settle })
  }

  #queued<Result>(
    push: (settle: Pick<PromiseWithResolvers<Result>, 'resolve' | 'reject'>) => void,
  ): Promise<Result> {
    if (this.#isClosed)
      return Promise.reject(new RecordStoreUnavailable('the record store is closed'))
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    push({ resolve, reject })
    this.#flushSoon()
    return promise
  }

  #flushSoon(): void {
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    setImmediate(() => {
      this.#isFlushDue = false
      this.#flush()
      if (this.#writes.length > 0) this.#flushSoon()
    })
  }

  #flush(): void {
    const writes = this.#writes.splice(0, COMMIT_WRITES_MAX)
    const notes = this.#notes.splice(0)
    if (writes.length + notes.length === 0) return
    const { database } = this.#options
    const journals: Journals = {
      user: createCompactRange(this.#journals.user.state()),
      assistant: createCompactRange(this.#journals.assistant.state()),
    }
    let results: readonly WriteResult[]
    try {
      // Notes alone need no fsync of their own; in WAL the next full commit carries them to the disk.
      if (writes.length === 0) database.exec('PRAGMA synchronous = NORMAL')
      database.exec('BEGIN IMMEDIATE')
      results = writes.map((write) => this.#write(write, journals))
      for (const { macHash, subscribers } of notes) this.#run.note.run(subscribers, macHash)
      if (writes.length > 0) this.#run.forget.run(this.#options.clock.unixMs() - REQUEST_KEPT_MS)
      database.exec('COMMIT')
    } catch (error) {
      this.#fail([...writes, ...notes], error)
      return
    } finally {
      if (writes.length === 0) database.exec('PRAGMA synchronous = FULL')
    }
    this.#commit(journals)
    for (const [index, result] of results.entries()) writes[index]?.resolve(result)
    for (const note of notes) note.resolve()
  }

  #commit(journals: Journals): void {
    const before = this.#journals
    this.#journals = journals
    const grown = AUDIENCES.filter((audience) => journals[audience].size > before[audience].size)
    if (grown.length > 0) this.#options.onCommitted(grown)
  }

  #fail(waiting: readonly { readonly reject: (error: unknown) => void }[], cause: unknown): void {
    const { database } = this.#options
    const error = new RecordStoreUnavailable(`nothing was written: ${messageOf(cause)}`, { cause })
    try {
      if (database.isTransaction) database.exec('ROLLBACK')
    } finally {
      for (const one of waiting) one.reject(error)
    }
  }

  #write({ record, request }: Write, journals: Journals): WriteResult {
    const macHash = request === undefined ? undefined : macHashOf(request)
    const known = macHash === undefined ? undefined : this.#requestByMac.get(macHash)
    const { statements, seal } = this.#options
    if (request !== undefined && known !== undefined) {
      const [audience, leafIndex] = known
      const first = readLeaf({ statements, seal, audience, leafIndex })
      return first === undefined
        ? { kind: 'known-broken' }
        : { kind: 'known', record: first, request }
    }
    const { patient, domain, audience } = record
    const chain = statements.chainByName.get(patient, domain)
    if (chain !== undefined && chain[1] !== audience) return { kind: 'audience-conflict' }
    const stored = this.#store({ record, chain, tree: journals[audience] })
    if (request !== undefined && macHash !== undefined)
      this.#run.addRequest.run(macHash, request.expiresAtMs, audience, stored.leafIndex)
    return { kind: 'appended', record: stored.record }
  }

  #store(options: {
    readonly record: NewRecord
    readonly chain: ChainRow | undefined
    readonly tree: CompactRange
  }): { readonly record: CareRecord; readonly leafIndex: number } {
    const { clock, seal, statements } = this.#options
    const { record, chain, tree } = options
    const { patient, domain, audience } = record
    const tail = readTail({ statements, seal, slot: record }, chain)
    const entry = nextEntry({
      record,
      prevHash: tail.versionHash,
      version: tail.version + 1,
      writtenAt: new Date(clock.unixMs()).toISOString(),
      random: randomBytes(ENTRY_RANDOM_BYTES).toString('hex'),
    })
    const text = writeJournalEntry(entry)
    const leafHash = entryLeafHash(text)
    const { version, versionHash, writtenAt } = entry
    const chainId =
      chain?.[0] ??
      this.#run.addChain.run(patient, domain, audience, version, versionHash).lastInsertRowid
    if (chain !== undefined) this.#run.moveHead.run(version, versionHash, chainId)
    const leafIndex = tree.size
    const body = seal.close(text, slotTextOf(record)(version))
    const { insert } = statements.versions[audience]
    insert.run(leafIndex, chainId, version, writtenAt, leafHash, body)
    tree.append(Buffer.from(leafHash, 'hex'))
    return { record: recordOf(entry), leafIndex }
  }
}
