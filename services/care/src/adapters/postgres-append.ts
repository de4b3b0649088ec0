// The writing half of the store on PostgreSQL. What the writes of a group need is read in one go by the first of them, under
// the lock of the journals' heads; each is then decided in memory, and what they changed is sent in one go (C14).
import type { PostgresJournalStore, PostgresTransaction } from '@tallystick/journal-store/postgres'
import type { CareRecord } from '../domain/care-record.ts'
import { requireStorable } from '../domain/journal-entry.ts'
import type { AppendOutcome, RequestKey } from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import { chainName } from './chain-keys-file.ts'
import { POSTGRES_RECORDS } from './postgres-record-database.ts'
import {
  CHAIN_COLUMNS,
  type ChainColumns,
  chainOf,
  foundVersion,
  JOIN_NEWEST,
  type JoinedColumns,
  joinedVersion,
  tableOf,
  VERSION_COLUMNS,
  type VersionColumns,
} from './postgres-rows.ts'
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
import { recordOfRow, slotOfChain, type Tail, tailOf } from './stored-record.ts'
import { keepWrites, LAST_WRITE } from './write-outbox.ts'

type Transaction = PostgresTransaction<Audience>

/** A chain as a group finds and leaves it. */
type HeldChain = {
  readonly id: number
  readonly patient: string
  readonly domain: string
  readonly audience: Audience
  tail: Tail
  isChanged: boolean
}

type KnownRequest = {
  readonly mac_hash: string
  readonly expires_at_ms: number
  readonly audience: Audience
  readonly leaf_index: number
}

/** What a group reads and changes. */
type Group = {
  readonly chains: Map<string, HeldChain>
  readonly requests: Map<string, KnownRequest & { readonly record?: CareRecord; isNew?: boolean }>
  readonly erased: ReadonlySet<string>
  lastChain: number
  readonly lastWrite: number
  readonly written: CareRecord[]
}

const TAILS = `SELECT ${CHAIN_COLUMNS}, ${VERSION_COLUMNS}
  FROM unnest($1::text[], $2::text[]) AS named (patient, domain)
  JOIN care.chains c ON c.patient = named.patient AND c.domain = named.domain ${JOIN_NEWEST}`
const KNOWN =
  'SELECT mac_hash, expires_at_ms, audience, leaf_index FROM care.requests WHERE mac_hash = ANY ($1)'
const ERASED = 'SELECT chain FROM care.erasures WHERE chain = ANY ($1)'
const KEEP_CHAINS = `INSERT INTO care.chains (id, patient, domain, audience, latest_version, head_hash)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[])
  ON CONFLICT (id) DO UPDATE SET latest_version = excluded.latest_version, head_hash = excluded.head_hash`
const KEEP_REQUESTS = `INSERT INTO care.requests (mac_hash, expires_at_ms, audience, leaf_index, subscribers)
  SELECT *, 0 FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[])`
const FORGET = `DELETE FROM care.requests WHERE mac_hash IN
  (SELECT mac_hash FROM care.requests WHERE expires_at_ms < $1 LIMIT ${FORGOTTEN_PER_COMMIT})`

type PostgresAppendOptions = AppendOptions & {
  /** Makes the keys durable that a group made: a version is never without its key. */
  readonly keepKeys: () => void
}

/** Writes records, and remembers the signed requests that made them. */
export class PostgresAppender {
  readonly #options: PostgresAppendOptions
  readonly #repeated: RepeatedRequests
  /** In the order of their writes: the first ones are those of the running group. */
  readonly #waiting = new Set<AskedWrite>()
  readonly #groups = new WeakMap<Transaction, Promise<Group>>()

  constructor(options: PostgresAppendOptions) {
    this.#options = options
    this.#repeated = new RepeatedRequests(options.clock)
  }

  /** Queues a write; resolves when it is durable. A repeated request waits until the first one's subscribers are counted. */
  async append(store: PostgresJournalStore<Audience>, waiting: AskedWrite): Promise<AppendOutcome> {
    requireStorable(waiting.record)
    this.#waiting.add(waiting)
    try {
      const result = await store.write((transaction) => this.#write(transaction, waiting))
      return await this.#repeated.answer(result, waiting.request, async (known) => {
        const [row] = await store.read<{ readonly subscribers: number }>(
          'SELECT subscribers FROM care.requests WHERE mac_hash = $1',
          [macHashOf(known)],
        )
        return row?.subscribers ?? 0
      })
    } finally {
      this.#waiting.delete(waiting)
    }
  }

  /** Keeps how many sessions heard of a write. */
  async noteSubscribers(
    store: PostgresJournalStore<Audience>,
    request: RequestKey,
    subscribers: number,
  ): Promise<void> {
    await store.writeRows(
      (query) =>
        query('UPDATE care.requests SET subscribers = $1 WHERE mac_hash = $2', [
          subscribers,
          macHashOf(request),
        ]),
      'relaxed',
    )
    this.#repeated.settle(request)
  }

  /** The last word of a group: what its writes changed, in one statement for each table. */
  async finish(transaction: Transaction): Promise<void> {
    const group = await this.#groups.get(transaction)
    if (group === undefined) return
    this.#options.keepKeys()
    const chains = [...group.chains.values()].filter(({ isChanged }) => isChanged)
    if (chains.length > 0)
      transaction.send(KEEP_CHAINS, [
        chains.map(({ id }) => id),
        chains.map(({ patient }) => patient),
        chains.map(({ domain }) => domain),
        chains.map(({ audience }) => audience),
        chains.map(({ tail }) => tail.version),
        chains.map(({ tail }) => tail.versionHash),
      ])
    const requests = [...group.requests.values()].filter(({ isNew }) => isNew === true)
    if (requests.length > 0)
      transaction.send(KEEP_REQUESTS, [
        requests.map((row) => row.mac_hash),
        requests.map((row) => row.expires_at_ms),
        requests.map(({ audience }) => audience),
        requests.map((row) => row.leaf_index),
      ])
    const nowMs = this.#options.clock.unixMs()
    keepWrites(transaction.send, { records: group.written, after: group.lastWrite, nowMs })
    transaction.send(FORGET, [nowMs - REQUEST_KEPT_MS])
  }

  #groupOf(transaction: Transaction): Promise<Group> {
    const known = this.#groups.get(transaction)
    if (known !== undefined) return known
    const first = [...this.#waiting].slice(0, POSTGRES_RECORDS.writesPerCommitMax)
    const loading = this.#load(transaction, first)
    this.#groups.set(transaction, loading)
    return loading
  }

  async #load({ query }: Transaction, waiting: readonly AskedWrite[]): Promise<Group> {
    const names = [...new Map(waiting.map(({ record }) => [chainName(record), record])).values()]
    const macs = waiting.flatMap(({ request }) => (request === undefined ? [] : macHashOf(request)))
    const [tails, requests, erased, last, lastWrite] = await Promise.all([
      query<JoinedColumns>(TAILS, [
        names.map(({ patient }) => patient),
        names.map(({ domain }) => domain),
      ]),
      macs.length === 0 ? [] : query<KnownRequest>(KNOWN, [macs]),
      query<{ readonly chain: string }>(ERASED, [names.map(chainName)]),
      query<{ readonly last: number }>('SELECT coalesce(max(id), 0) AS last FROM care.chains'),
      query<{ readonly last: number }>(LAST_WRITE),
    ])
    return {
      chains: new Map(tails.map((row) => [chainName(row), this.#heldChain(row)])),
      requests: new Map(requests.map((row) => [row.mac_hash, row])),
      erased: new Set(erased.map(({ chain }) => chain)),
      lastChain: last[0]?.last ?? 0,
      lastWrite: lastWrite[0]?.last ?? 0,
      written: [],
    }
  }

  #heldChain(row: JoinedColumns): HeldChain {
    const { audience, domain, id, patient } = row
    const slot = { audience, domain, patient }
    const tail = tailOf(chainOf(row), joinedVersion(row), { slot, seal: this.#options.seal })
    return { id, ...slot, tail, isChanged: false }
  }

  async #write(
    transaction: Transaction,
    { record, request, expectedVersion }: AskedWrite,
  ): Promise<WriteResult> {
    const group = await this.#groupOf(transaction)
    const macHash = request === undefined ? undefined : macHashOf(request)
    const known = macHash === undefined ? undefined : group.requests.get(macHash)
    if (known !== undefined) {
      const first = known.record ?? (await this.#readLeaf(transaction, known))
      return first === undefined ? { kind: 'known-broken' } : { kind: 'known', record: first }
    }
    const { patient, domain, audience } = record
    const chain = group.chains.get(chainName(record)) ?? {
      id: group.lastChain + 1,
      patient,
      domain,
      audience,
      isChanged: false,
      tail: tailOf(undefined, undefined, { slot: record, seal: this.#options.seal }),
    }
    if (chain.audience !== audience) return { kind: 'audience-conflict' }
    if (group.erased.has(chainName(record))) return { kind: 'erased' }
    const refused = refusedBehind(chain.tail, expectedVersion)
    if (refused !== undefined) return refused
    const made = makeVersion(record, { ...this.#options, tail: chain.tail })
    const { version, versionHash, writtenAt } = made.record
    const leafIndex = transaction.journals[audience].append(made.leafHash, [
      chain.id,
      version,
      writtenAt,
      Buffer.from(made.body),
    ])
    const previous = chain.tail.record
    chain.tail = { version, versionHash, record: made.record }
    chain.isChanged = true
    group.chains.set(chainName(record), chain)
    group.lastChain = Math.max(group.lastChain, chain.id)
    group.written.push(made.record)
    if (request !== undefined && macHash !== undefined)
      group.requests.set(macHash, {
        mac_hash: macHash,
        expires_at_ms: request.expiresAtMs,
        audience,
        leaf_index: leafIndex,
        record: made.record,
        isNew: true,
      })
    return { kind: 'appended', record: made.record, previous }
  }

  async #readLeaf(
    { query }: Transaction,
    { audience, leaf_index: leafIndex }: KnownRequest,
  ): Promise<CareRecord | undefined> {
    const sql = `SELECT ${CHAIN_COLUMNS}, ${VERSION_COLUMNS} FROM ${tableOf(audience)} v
      JOIN care.chains c ON c.id = v.chain WHERE v.at = $1`
    const [row] = await query<ChainColumns & VersionColumns>(sql, [leafIndex])
    if (row === undefined) return undefined
    const { chain, row: version } = foundVersion(row)
    return recordOfRow(version, { slot: slotOfChain(chain), seal: this.#options.seal })
  }
}
