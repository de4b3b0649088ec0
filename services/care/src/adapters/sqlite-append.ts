// The writing half of the store on SQLite: what one write comes to inside its transaction. The journal store groups writes into
// commits and answers each when it is on the disk (C14).
import type { DatabaseSync } from 'node:sqlite'
import { prepareQuery, type SqliteJournalStore, type SqliteQuery } from '@tallystick/journal-store'
import type { NewRecord } from '../domain/care-record.ts'
import { requireStorable } from '../domain/journal-entry.ts'
import type { AppendOutcome, RequestKey } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import { chainName } from './chain-keys-file.ts'
import {
  type AppendOptions,
  type AskedWrite,
  FORGOTTEN_PER_COMMIT,
  macHashOf,
  makeVersion,
  REQUEST_KEPT_MS,
  RepeatedRequests,
  refusedBehind,
  type WriteResult,
} from './record-append.ts'
import { readLeaf, readTail } from './sqlite-reads.ts'
import type { RecordStatements } from './sqlite-statements.ts'
import type { ChainRow } from './stored-record.ts'
import { createSqliteOutbox } from './write-outbox.ts'

type SqliteAppendOptions = AppendOptions & {
  readonly store: SqliteJournalStore<Audience>
  readonly statements: RecordStatements
  /** Called after each commit, before the next one begins. */
  readonly onCommitted?: () => void
}

/** [audience, leaf_index, subscribers] */
type RequestRow = readonly [Audience, number, number]

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
  readonly #options: SqliteAppendOptions
  readonly #requestByMac: SqliteQuery<RequestRow>
  readonly #run: ReturnType<typeof prepareWrites>
  readonly #repeated: RepeatedRequests
  readonly #outbox: ReturnType<typeof createSqliteOutbox>

  constructor(options: SqliteAppendOptions) {
    const { database } = options.store
    this.#options = options
    this.#repeated = new RepeatedRequests(options.clock)
    this.#requestByMac = prepareQuery(
      database,
      'SELECT audience, leaf_index, subscribers FROM requests WHERE mac_hash = ?',
    )
    this.#run = prepareWrites(database)
    this.#outbox = createSqliteOutbox(database)
  }

  /** Queues a write; resolves when it is durable. A repeated request waits until the first one's subscribers are counted. */
  async append(write: AskedWrite): Promise<AppendOutcome> {
    const { record, request } = write
    requireStorable(record)
    const result = await this.#options.store.write(() => this.#write(write))
    this.#options.onCommitted?.()
    return this.#repeated.answer(
      result,
      request,
      async (known) => this.#requestByMac.get(macHashOf(known))?.[2] ?? 0,
    )
  }

  /** Keeps how many sessions heard of a write. It outlives the process at once, and power loss with the next write. */
  async noteSubscribers(request: RequestKey, subscribers: number): Promise<void> {
    const macHash = macHashOf(request)
    const { store } = this.#options
    await store.write(() => void this.#run.note.run(subscribers, macHash), 'relaxed')
    this.#options.onCommitted?.()
    this.#repeated.settle(request)
  }

  /** Within a transaction: takes out requests whose window is long over. */
  forgetRequests(): void {
    const nowMs = this.#options.clock.unixMs()
    this.#run.forget.run(nowMs - REQUEST_KEPT_MS)
    this.#outbox.forget(nowMs)
  }

  #write({ record, request, expectedVersion }: AskedWrite): WriteResult {
    const macHash = request === undefined ? undefined : macHashOf(request)
    const known = macHash === undefined ? undefined : this.#requestByMac.get(macHash)
    if (known !== undefined) {
      const [audience, leafIndex] = known
      const first = readLeaf(this.#options, { audience, leafIndex })
      return first === undefined ? { kind: 'known-broken' } : { kind: 'known', record: first }
    }
    const { patient, domain, audience } = record
    const chain = this.#options.statements.chainByName.get(patient, domain)
    if (chain !== undefined && chain[1] !== audience) return { kind: 'audience-conflict' }
    if (this.#options.statements.erasureOf.get(chainName(record)) !== undefined)
      return { kind: 'erased' }
    const tail = readTail(this.#options, record, chain)
    const refused = refusedBehind(tail, expectedVersion)
    if (refused !== undefined) return refused
    const made = makeVersion(record, { ...this.#options, tail })
    const { version, versionHash, writtenAt } = made.record
    const leafIndex = this.#options.store.journals[audience].append(made.leafHash, [
      this.#chainId(record, chain, { version, versionHash }),
      version,
      writtenAt,
      made.body,
    ])
    if (request !== undefined && macHash !== undefined)
      this.#run.addRequest.run(macHash, request.expiresAtMs, audience, leafIndex)
    this.#outbox.add(made.record, this.#options.clock.unixMs())
    return { kind: 'appended', record: made.record, previous: tail.record }
  }

  /** Moves a chain to its new version, or begins it; returns its id. */
  #chainId(
    { patient, domain, audience }: NewRecord,
    chain: ChainRow | undefined,
    { version, versionHash }: { readonly version: number; readonly versionHash: string },
  ): number | bigint {
    if (chain === undefined)
      return this.#run.addChain.run(patient, domain, audience, version, versionHash).lastInsertRowid
    this.#run.moveHead.run(version, versionHash, chain[0])
    return chain[0]
  }
}
