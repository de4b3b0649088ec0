// A write, top to bottom, on either engine: the key of its chain, then its group's memory, the decision, and the row. The journal
// store groups writes into commits and answers each when it is on the disk (C14).
import { hash, randomBytes } from 'node:crypto'
import type { GroupMemory, Rows, Statement, Store } from '@tallystick/journal-store'
import { BoundedMap, type Clock, isoNow } from '@tallystick/service-kit'
import type { NewRecord } from '../../domain/care-record.ts'
import {
  decideWrite,
  type KnownRequest,
  type MetByWrite,
  type NextVersion,
  NO_TAIL,
  type Tail,
  type WriteDecision,
} from '../../domain/decide-write.ts'
import { ENTRY_RANDOM_BYTES, requireStorable } from '../../domain/journal-entry.ts'
import {
  type AppendOutcome,
  type RecordStore,
  RecordStoreUnavailable,
  type RequestKey,
  type TopicName,
} from '../../domain/record-store.ts'
import { AUDIENCES, type Audience } from '../../wire/audience.ts'
import type { ChainSlot } from '../../wire/record-uri.ts'
import { type ChainSeal, type ChainSeals, chainName } from '../keys/chain-keys.ts'
import { ENDS_OF_CHAIN, type FoundRow, foundChains, type RecordSource } from './record-sql.ts'
import {
  formatSlot,
  isChainWithdrawn,
  isErased,
  openTail,
  recordOfRow,
  type StoredSlot,
  slotOfChain,
} from './stored-record.ts'

/** How long after its window a request is remembered, milliseconds: a clock set back by less does not reopen the window. */
const REQUEST_KEPT_MS = 3_600_000
/** Remembered requests that one transaction deletes, so that none gets long. */
const FORGOTTEN_PER_COMMIT = 1_000

const LAST_CHAIN = 'SELECT coalesce(max(id), 0) FROM chains'
const FORGET = `DELETE FROM requests WHERE mac_hash IN
  (SELECT mac_hash FROM requests WHERE expires_at_ms < $1 LIMIT ${FORGOTTEN_PER_COMMIT})`

/** A waiting write: its record, its request's digest, and the key of its chain, of the turn that it was sealed for. */
export type PreparedWrite = {
  readonly record: NewRecord
  readonly expectedVersion: number | undefined
  readonly request: { readonly macHash: string; readonly expiresAtMs: number } | undefined
  readonly turn: number
  readonly seal: ChainSeal
}

/** A chain as a group finds and leaves it. */
type KnownChain = StoredSlot & {
  readonly id: number
  readonly isErased: boolean
  readonly isWithdrawn: boolean
  readonly tail: Tail
}

type RequestRow = readonly [macHash: string, audience: Audience, leaf: number, subscribers: number]

const nameTopic = ({ domain, patient }: TopicName): string => `${patient}|${domain}`
const nameSlot = (slot: ChainSlot): string => `${nameTopic(slot)}|${slot.audience}`

export class RecordMemory {
  /** By topic and requested audience: a chain of the other audience is here too, without its tail. */
  readonly #chains = new Map<string, KnownChain>()
  readonly #requests = new Map<string, KnownRequest>()
  /** Names of erased chains that do not exist. */
  readonly #erased: ReadonlySet<string>
  /** By topic, how many of its chains were freed, if any. */
  readonly #turns: ReadonlyMap<string, number>
  readonly #changed = new Map<number, KnownChain>()
  readonly #newRequests: (readonly unknown[])[] = []
  #lastChain: number

  constructor(found: {
    readonly chains: ReadonlyMap<string, KnownChain>
    readonly requests: ReadonlyMap<string, KnownRequest>
    readonly erased: ReadonlySet<string>
    readonly turns: ReadonlyMap<string, number>
    readonly lastChain: number
  }) {
    for (const [slot, chain] of found.chains) this.#chains.set(slot, chain)
    for (const [macHash, request] of found.requests) this.#requests.set(macHash, request)
    this.#erased = found.erased
    this.#turns = found.turns
    this.#lastChain = found.lastChain
  }

  /** What a write meets. */
  find({ record, request }: PreparedWrite): MetByWrite {
    const chain = this.#chains.get(nameSlot(record))
    const turn = chain?.turn ?? this.#turns.get(nameTopic(record)) ?? 0
    return {
      request: request && this.#requests.get(request.macHash),
      chain,
      isErased: chain?.isErased ?? this.#erased.has(chainName({ ...record, turn })),
      turn,
    }
  }

  /** The id of a write's chain; a new chain gets the next. */
  chainId({ record }: PreparedWrite): number {
    return this.#chains.get(nameSlot(record))?.id ?? this.#lastChain + 1
  }

  /** Takes up a version, and the request that made it, at its place in the journal. */
  add(
    { record: { audience, domain, patient }, request, turn }: PreparedWrite,
    { record }: NextVersion,
    leaf: number,
  ): void {
    const slot = { patient, domain, audience, turn }
    const id = this.#chains.get(nameSlot(slot))?.id ?? (this.#lastChain += 1)
    const { version, versionHash } = record
    const tail = { version, versionHash, record }
    const chain = { ...slot, id, isErased: false, isWithdrawn: record.status !== undefined, tail }
    // The other audience cannot use its name any more.
    for (const each of AUDIENCES) this.#chains.set(nameSlot({ ...slot, audience: each }), chain)
    this.#changed.set(id, chain)
    if (request === undefined) return
    const { expiresAtMs, macHash } = request
    this.#requests.set(macHash, { record, isFreed: false, subscribers: 0 })
    this.#newRequests.push([macHash, expiresAtMs, audience, leaf, 0])
  }

  /** The changes, as statements over each table's rows. */
  save({ sql }: RecordSource, nowMs: number): readonly Statement[] {
    const statements: Statement[] = []
    const send = (text: string, values: readonly unknown[]): void =>
      void statements.push({ text, values })
    const sendRows = (text: string, rows: readonly (readonly unknown[])[]): void => {
      if (rows.length > 0) send(text, sql.list(rows))
    }
    const chains = [...this.#changed.values()].map(
      ({ audience, domain, id, isWithdrawn, patient, tail, turn }) => [
        id,
        patient,
        domain,
        audience,
        turn,
        tail.version,
        tail.versionHash,
        Number(isWithdrawn),
      ],
    )
    sendRows(sql.keepChains, chains)
    sendRows(sql.keepRequests, this.#newRequests)
    send(FORGET, [nowMs - REQUEST_KEPT_MS])
    return statements
  }
}

/** The memory of groups of writes to records. */
export const rememberRecords = (
  openSource: (rows: Rows) => RecordSource,
  clock: Clock,
): GroupMemory<Audience, RecordMemory, PreparedWrite> => {
  const saving = openSource(() => Promise.reject(new Error('what is saved reads nothing')))
  return {
    read: (rows, writes) => readMemory(openSource(rows), writes),
    save: (memory) => memory.save(saving, clock.unixMs()),
  }
}

/** Reads what writes need: chains with their tails, and requests with what they made. */
async function readMemory(
  source: RecordSource,
  writes: readonly PreparedWrite[],
): Promise<RecordMemory> {
  const { ask, sql } = source
  const seals = new Map(
    writes.map(({ record, seal, turn }) => [chainName({ ...record, turn }), seal]),
  )
  const slots = new Map(writes.map(({ record }) => [nameSlot(record), record]))
  const macs = writes.flatMap(({ request }) => (request === undefined ? [] : [[request.macHash]]))
  const [[[lastChain] = [0]], known, ...tails] = await Promise.all([
    ask<readonly [number]>(LAST_CHAIN),
    macs.length === 0 ? [] : ask<RequestRow>(sql.requests, sql.list(macs)),
    ...AUDIENCES.map((audience) => {
      const names = [...slots.values()].flatMap((slot) =>
        slot.audience === audience ? [[slot.patient, slot.domain]] : [],
      )
      return names.length === 0 ? [] : ask<FoundRow>(sql.of[audience].tails, sql.list(names))
    }),
  ])
  const chains = new Map<string, KnownChain>()
  for (const [at, audience] of AUDIENCES.entries())
    for (const found of foundChains(tails[at] ?? [])) {
      const slot = slotOfChain(found.chain)
      const seal = slot.audience === audience ? seals.get(chainName(slot)) : undefined
      chains.set(nameSlot({ ...slot, audience }), {
        ...slot,
        id: found.chain[0],
        isErased: isErased(found.chain),
        isWithdrawn: isChainWithdrawn(found.chain),
        // A write that was sealed for another turn is told so, and its tail is not needed.
        tail: seal === undefined ? NO_TAIL : openTail(found, seal),
      })
    }
  const begun = [...slots].flatMap(([key, slot]) => (chains.has(key) ? [] : [slot]))
  const [missing, requests] = await Promise.all([
    readMissing(source, begun),
    readMade(source, { known, seals }),
  ])
  return new RecordMemory({ chains, requests, lastChain, ...missing })
}

/** Of topics without a chain: how many were freed, and which were erased all the same. */
async function readMissing(
  { ask, sql }: RecordSource,
  topics: readonly TopicName[],
): Promise<{ readonly turns: ReadonlyMap<string, number>; readonly erased: ReadonlySet<string> }> {
  if (topics.length === 0) return { turns: new Map(), erased: new Set() }
  const names = topics.map(({ domain, patient }) => [patient, domain])
  const freed = await ask<readonly [string, string, number]>(sql.freedOf, sql.list(names))
  const turns = new Map(
    freed.map(([patient, domain, turn]) => [nameTopic({ patient, domain }), turn]),
  )
  const chains = topics.map((topic) => [
    chainName({ ...topic, turn: turns.get(nameTopic(topic)) ?? 0 }),
  ])
  const erased = await ask<readonly [string]>(sql.erased, sql.list(chains))
  return { turns, erased: new Set(erased.flat()) }
}

/** What known requests made, if that still holds: in the chain that the write names again. */
async function readMade(
  { ask, sql }: RecordSource,
  {
    known,
    seals,
  }: { readonly known: readonly RequestRow[]; readonly seals: ReadonlyMap<string, ChainSeal> },
): Promise<ReadonlyMap<string, KnownRequest>> {
  const made = known.map(async ([macHash, audience, leaf, subscribers]) => {
    const [found] = foundChains(await ask<FoundRow>(sql.of[audience].byLeaf, [leaf]))
    if (found === undefined)
      return [macHash, { record: undefined, isFreed: false, subscribers }] as const
    const slot = slotOfChain(found.chain)
    const seal = seals.get(chainName(slot))
    const record = seal && recordOfRow(found.versions[0], { slot, seal })
    return [macHash, { record, isFreed: found.chain[8] > 0, subscribers }] as const
  })
  return new Map(await Promise.all(made))
}

/** Topics whose turn is remembered, so that a write there is sealed once: operators free a few. */
const TURNS_KNOWN_MAX = 1_000

/** The MAC itself is not kept: a reader of the disk could send the write again. */
const hashMac = (request: RequestKey): string => hash('sha256', request.mac)

const NOTE_SUBSCRIBERS = 'UPDATE requests SET subscribers = $1 WHERE mac_hash = $2'

const drawRandom = (): string => randomBytes(ENTRY_RANDOM_BYTES).toString('hex')

export type WriterOptions = {
  readonly seals: ChainSeals
  readonly clock: Clock
  /** Draws what makes equal entries differ, ENTRY_RANDOM_BYTES in hex; a test that compares stores brings its own. */
  readonly random?: (() => string) | undefined
}

/** Where records are written. */
export type WrittenStore = Pick<Store<Audience, RecordMemory, PreparedWrite>, 'write' | 'note'> & {
  readonly source: RecordSource
}

type UnpreparedWrite = {
  readonly record: NewRecord
  readonly request: RequestKey | undefined
  readonly expectedVersion: number | undefined
}

/** The writing half of a record store. */
export function createRecordWriter(
  store: WrittenStore,
  { clock, random = drawRandom, seals }: WriterOptions,
): Pick<RecordStore, 'append' | 'noteSubscribers'> {
  /** How many chains of a topic were freed, where this process has met one. */
  const turns = new BoundedMap<string, number>(TURNS_KNOWN_MAX)

  /** Before its group: the key is durable first, and no lock is held while a place of keys is asked. */
  async function prepare({
    expectedVersion,
    record,
    request,
  }: UnpreparedWrite): Promise<PreparedWrite> {
    const turn = turns.get(chainName({ ...record, turn: 0 })) ?? 0
    const seal = await seals.sealToWrite([chainName({ ...record, turn })], async (chain) => {
      const names = [chain.patient, chain.domain, chain.turn]
      const ends = await store.source.ask<readonly [unknown]>(ENDS_OF_CHAIN, names)
      return ends.map(([body]) => body)
    })
    const known = request && { macHash: hashMac(request), expiresAtMs: request.expiresAtMs }
    return { record, expectedVersion, request: known, turn, seal }
  }

  const write = (
    prepared: PreparedWrite,
  ): Promise<AppendOutcome | Exclude<WriteDecision, { readonly kind: 'version' }>> =>
    store.write(({ append: appendEntry, memory, remember, size }) => {
      const now = { nowIso: isoNow(clock), random: random() }
      const decision = decideWrite(prepared, memory.find(prepared), now)
      if (decision.kind !== 'version') return decision
      const { changesList, entry, leafHash, record } = decision
      const { seal, turn } = prepared
      const body = seal.close(entry, formatSlot({ ...record, turn })(record.version))
      const place = size('user') + size('assistant')
      const cells = [
        memory.chainId(prepared),
        record.version,
        record.writtenAt,
        body,
        place,
        Number(changesList),
      ]
      const leaf = appendEntry(record.audience, leafHash, cells)
      remember(() => memory.add(prepared, decision, leaf))
      return { kind: 'appended', record, previous: decision.previous, place }
    }, prepared)

  async function append(unprepared: UnpreparedWrite): Promise<AppendOutcome> {
    requireStorable(unprepared.record)
    // Again only for a topic that an operator freed since: each time takes another free.
    for (;;) {
      const decision = await write(await prepare(unprepared))
      if (decision.kind === 'known-broken')
        throw new RecordStoreUnavailable(
          'the version that this request made does not hold any more',
        )
      if (decision.kind !== 'other-turn') return decision
      turns.set(chainName({ ...unprepared.record, turn: 0 }), decision.turn)
    }
  }

  return {
    append: (record, request, expectedVersion) => append({ record, request, expectedVersion }),
    noteSubscribers: async (request, subscribers) => {
      // Its row says none from the start.
      if (subscribers > 0) await store.note(NOTE_SUBSCRIBERS, [subscribers, hashMac(request)])
    },
  }
}
