// The writing half of the store. Everything that comes in one turn of the event loop goes into one transaction, is fsynced
// once, and only then answered (C14). A failing transaction leaves neither a row nor a leaf behind.

import { hash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import { type CompactRange, createCompactRange, GENESIS_PREV_HASH } from '@tallystick/hashchain'
import type { Clock } from '@tallystick/service-kit'
import type { CareRecord, NewRecord } from '../domain/care-record.ts'
import {
  ENTRY_RANDOM_BYTES,
  entryLeafHash,
  nextEntry,
  recordOf,
  writeJournalEntry,
} from '../domain/journal-entry.ts'
import {
  type AppendOutcome,
  RecordStoreUnavailable,
  type RequestKey,
} from '../domain/record-store.ts'
import type { ChainSlot } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { openVersion, slotOfChain } from './sqlite-reads.ts'
import {
  type ChainRow,
  prepareQuery,
  type Query,
  type RecordStatements,
} from './sqlite-statements.ts'
import { type EntrySeal, slotTextOf } from './store-seal.ts'

/** Writes in one transaction: more would hold up the event loop for more than some 20 ms. */
const COMMIT_WRITES_MAX = 512
/** Writes that may wait; each is held by a request, so that this is far above what a server's sockets allow. */
const WAITING_WRITES_MAX = 20_000
/**
 * How long after its window a request is remembered, milliseconds: a clock that is set back by less than this does not
 * open the window again.
 */
const REQUEST_KEPT_MS = 3_600_000
/** Remembered requests taken out by one transaction, so that none gets long. */
const FORGOTTEN_PER_COMMIT = 1_000

const CLOSED = 'the record store is closed'

const VERSION_HASH = /^[0-9a-f]{64}$/

type ChainTail = { readonly version: number; readonly versionHash: string }

type Journals = Record<Audience, CompactRange>

/** What one write comes to inside its transaction. */
export type WriteResult =
  | Exclude<AppendOutcome, { kind: 'repeated' }>
  | { readonly kind: 'known'; readonly record: CareRecord; readonly mac: string }
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

export type AppendOptions = {
  readonly database: DatabaseSync
  readonly statements: RecordStatements
  readonly seal: EntrySeal
  readonly clock: Clock
  readonly random: (size: number) => Uint8Array
  readonly journals: Journals
  /** Called after a commit, with the journals that grew. */
  readonly onCommitted: (grown: ReadonlySet<Audience>) => void
}

/** [audience, leaf_index, subscribers] */
type RequestRow = readonly [Audience, number, number]

/** The MAC itself is not kept: whoever reads the disk could send the write again. */
const macHashOf = (request: Pick<RequestKey, 'mac'>): string => hash('sha256', request.mac)

/** Appends in groups, one commit each. */
export class SqliteAppender {
  readonly #options: AppendOptions
  readonly #requestByMac: Query<RequestRow>
  readonly #run: Readonly<
    Record<
      'addChain' | 'moveHead' | 'addRequest' | 'forget' | 'note',
      ReturnType<DatabaseSync['prepare']>
    >
  >
  readonly #writes: Write[] = []
  readonly #notes: Note[] = []
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
    this.#run = {
      addChain: database.prepare(
        'INSERT INTO chains (patient, domain, audience, latest_version, head_hash) VALUES (?, ?, ?, ?, ?)',
      ),
      moveHead: database.prepare(
        'UPDATE chains SET latest_version = ?, head_hash = ? WHERE id = ?',
      ),
      addRequest: database.prepare(
        'INSERT INTO requests (mac_hash, expires_at_ms, audience, leaf_index, subscribers) VALUES (?, ?, ?, ?, 0)',
      ),
      forget: database.prepare(
        `DELETE FROM requests WHERE rowid IN (SELECT rowid FROM requests WHERE expires_at_ms < ? LIMIT ${FORGOTTEN_PER_COMMIT})`,
      ),
      note: database.prepare('UPDATE requests SET subscribers = ? WHERE mac_hash = ?'),
    }
  }

  /** Head of a journal, as committed. */
  journal(audience: Audience): CompactRange {
    return this.#journals[audience]
  }

  /** Queues a write; resolves when it is durable. */
  write(record: NewRecord, request: RequestKey | undefined): Promise<WriteResult> {
    if (this.#isClosed || this.#writes.length >= WAITING_WRITES_MAX) {
      const reason = this.#isClosed ? CLOSED : 'too many writes are waiting'
      return Promise.reject(new RecordStoreUnavailable(reason))
    }
    return new Promise((resolve, reject) => {
      this.#writes.push({ record, request, resolve, reject })
      this.#flushSoon()
    })
  }

  /** How many sessions the first answer to a request named. */
  subscribersOf(mac: string): number {
    return this.#requestByMac.get(macHashOf({ mac }))?.[2] ?? 0
  }

  /** Keeps how many sessions heard of a write. It outlives the process at once, and power loss with the next write. */
  note(request: RequestKey, subscribers: number): Promise<void> {
    if (this.#isClosed) return Promise.reject(new RecordStoreUnavailable(CLOSED))
    return new Promise((resolve, reject) => {
      this.#notes.push({ macHash: macHashOf(request), subscribers, resolve, reject })
      this.#flushSoon()
    })
  }

  /** Commits what waits and takes nothing more. */
  close(): void {
    this.#isClosed = true
    while (this.#writes.length + this.#notes.length > 0) this.#flush()
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
      results = writes.map((write) => this.#append(write, journals))
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
    const audiences: readonly Audience[] = ['user', 'assistant']
    const grown = audiences.filter((audience) => journals[audience].size > before[audience].size)
    if (grown.length > 0) this.#options.onCommitted(new Set(grown))
  }

  #fail(waiting: readonly { readonly reject: (error: unknown) => void }[], cause: unknown): void {
    const { database } = this.#options
    const reason = cause instanceof Error ? cause.message : String(cause)
    const error = new RecordStoreUnavailable(`nothing was written: ${reason}`, { cause })
    try {
      if (database.isTransaction) database.exec('ROLLBACK')
    } finally {
      for (const one of waiting) one.reject(error)
    }
  }

  #append({ record, request }: Write, journals: Journals): WriteResult {
    const macHash = request === undefined ? undefined : macHashOf(request)
    const known = macHash === undefined ? undefined : this.#requestByMac.get(macHash)
    if (request !== undefined && known !== undefined) {
      const first = this.#recordAt(known)
      if (first === undefined) return { kind: 'known-broken' }
      return { kind: 'known', record: first, mac: request.mac }
    }
    const { statements } = this.#options
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
    const { clock, random, seal, statements } = this.#options
    const { record, chain, tree } = options
    const { patient, domain, audience } = record
    const slot: ChainSlot = { patient, domain, audience }
    const tail = this.#tailOf(chain, slot)
    const entry = nextEntry({
      record,
      prevHash: tail.versionHash,
      version: tail.version + 1,
      writtenAt: new Date(clock.unixMs()).toISOString(),
      random: Buffer.from(random(ENTRY_RANDOM_BYTES)).toString('hex'),
    })
    const text = writeJournalEntry(entry)
    const leafHash = entryLeafHash(text)
    const { version, versionHash, writtenAt } = entry
    const chainId =
      chain?.[0] ??
      this.#run.addChain.run(patient, domain, audience, version, versionHash).lastInsertRowid
    if (chain !== undefined) this.#run.moveHead.run(version, versionHash, chainId)
    const leafIndex = tree.size
    const body = seal.close(text, slotTextOf(slot)(version))
    const { insert } = statements.versions[audience]
    insert.run(leafIndex, chainId, version, writtenAt, leafHash, body)
    tree.append(Buffer.from(leafHash, 'hex'))
    return { record: recordOf(entry), leafIndex }
  }

  /** The record of a repeated request's first answer. */
  #recordAt([audience, leafIndex]: RequestRow): CareRecord | undefined {
    const { statements, seal } = this.#options
    const row = statements.versions[audience].byLeaf.get(leafIndex)
    const chain = row === undefined ? undefined : statements.chainById.get(row[1])
    if (row === undefined || chain === undefined) return undefined
    const opened = openVersion({ row, slot: slotOfChain(chain), seal })
    return opened.kind === 'holds' ? opened.record : undefined
  }

  /**
   * What a new version follows: the newest version that is stored, or, where that does not hold, what the chain's row
   * says of it. A chain that was tampered with still takes new versions, behind everything that is there.
   */
  #tailOf(chain: ChainRow | undefined, slot: ChainSlot): ChainTail {
    const { seal, statements } = this.#options
    if (chain === undefined) return { version: 0, versionHash: GENESIS_PREV_HASH }
    const [id, , latestVersion, headHash] = chain
    const row = statements.versions[slot.audience].newest.get(id)
    const opened = row?.[2] === latestVersion ? openVersion({ row, slot, seal }) : undefined
    if (opened?.kind === 'holds') return opened.record
    const version = Math.max(latestVersion, row?.[2] ?? 0)
    return { version, versionHash: VERSION_HASH.test(headHash) ? headHash : GENESIS_PREV_HASH }
  }
}
