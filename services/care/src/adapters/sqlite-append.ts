// The writing half of the store: what one write comes to inside its transaction. The journal store groups writes into commits
// and answers each when it is on the disk (C14).
import { hash, randomBytes } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import {
  type BodySeal,
  prepareQuery,
  type SqliteJournalStore,
  type SqliteQuery,
} from '@tallystick/journal-store'
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
import type { Audience } from '../wire/records.ts'
import { readLeaf, readTail } from './sqlite-reads.ts'
import { slotTextOf } from './sqlite-record-database.ts'
import type { ChainRow, RecordStatements } from './sqlite-statements.ts'

/** How long after its window a request is remembered, milliseconds: a clock set back by less does not reopen the window. */
const REQUEST_KEPT_MS = 3_600_000
/** Remembered requests that one transaction deletes, so that none gets long. */
const FORGOTTEN_PER_COMMIT = 1_000

/** What one write comes to inside its transaction. */
type WriteResult =
  | Exclude<AppendOutcome, { kind: 'repeated' }>
  | { readonly kind: 'known'; readonly record: CareRecord; readonly request: RequestKey }
  /** The request is known, but the version that it made does not hold any more. */
  | { readonly kind: 'known-broken' }

type AppendOptions = {
  readonly store: SqliteJournalStore<Audience>
  readonly statements: RecordStatements
  readonly seal: BodySeal
  readonly clock: Clock
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

/** Writes records, and remembers the signed requests that made them. */
export class SqliteAppender {
  readonly #options: AppendOptions
  readonly #requestByMac: SqliteQuery<RequestRow>
  readonly #run: ReturnType<typeof prepareWrites>
  /** Signed requests whose write is done and whose subscribers are not counted yet, by MAC. */
  readonly #uncounted = new Map<string, { readonly done: Promise<void>; settle(): void }>()

  constructor(options: AppendOptions) {
    const { database } = options.store
    this.#options = options
    this.#requestByMac = prepareQuery(
      database,
      'SELECT audience, leaf_index, subscribers FROM requests WHERE mac_hash = ?',
    )
    this.#run = prepareWrites(database)
  }

  /** Queues a write; resolves when it is durable. A repeated request waits until the first one's subscribers are counted. */
  async append(record: NewRecord, request: RequestKey | undefined): Promise<AppendOutcome> {
    requireStorable(record)
    const result = await this.#options.store.write(() => this.#write(record, request))
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
    const { store } = this.#options
    await store.write(() => void this.#run.note.run(subscribers, macHash), 'relaxed')
    this.#uncounted.get(request.mac)?.settle()
  }

  /** Within a transaction: takes out requests whose window is long over. */
  forgetRequests(): void {
    this.#run.forget.run(this.#options.clock.unixMs() - REQUEST_KEPT_MS)
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

  #write(record: NewRecord, request: RequestKey | undefined): WriteResult {
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
    const stored = this.#store(record, chain)
    if (request !== undefined && macHash !== undefined)
      this.#run.addRequest.run(macHash, request.expiresAtMs, audience, stored.leafIndex)
    return { kind: 'appended', record: stored.record }
  }

  #store(
    record: NewRecord,
    chain: ChainRow | undefined,
  ): { readonly record: CareRecord; readonly leafIndex: number } {
    const { clock, seal, statements, store } = this.#options
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
    const body = seal.close(text, slotTextOf(record)(version))
    const leafIndex = store.journals[audience].append(Buffer.from(leafHash, 'hex'), [
      chainId,
      version,
      writtenAt,
      body,
    ])
    return { record: recordOf(entry), leafIndex }
  }
}
