// The writing half of the store, on either engine. The first write of a group reads what the whole group needs, under the lock
// of the journals. Each write is decided in memory; after the last one their changes are sent. The journal store groups writes
// into commits and answers each when it is on the disk (C14).
import { type Awaitable, askEach, type TupleQuery, whenAnswered } from '@tallystick/journal-store'
import { BoundedMap } from '@tallystick/service-kit'
import type { CareRecord } from '../domain/care-record.ts'
import { requireStorable } from '../domain/journal-entry.ts'
import {
  type AppendOutcome,
  RecordStoreUnavailable,
  type TopicName,
} from '../domain/record-store.ts'
import type { ChainSlot } from '../wire/record-uri.ts'
import { AUDIENCES, type Audience } from '../wire/records.ts'
import {
  type AppendOptions,
  type AskedWrite,
  macHashOf,
  makeVersion,
  type WriteResult,
} from './append-outcome.ts'
import { type ChainSeal, chainName } from './chain-keys.ts'
import { ENDS_OF_CHAIN, type FoundRow, foundChains, type RecordSource } from './record-sql.ts'
import { RECORDS } from './sqlite-record-database.ts'
import {
  isErased,
  NO_TAIL,
  recordOfRow,
  type StoredSlot,
  slotOfChain,
  type Tail,
  tailOf,
} from './stored-record.ts'

/** How long after its window a request is remembered, milliseconds: a clock set back by less does not reopen the window. */
const REQUEST_KEPT_MS = 3_600_000
/** Remembered requests that one transaction deletes, so that none gets long. */
const FORGOTTEN_PER_COMMIT = 1_000

/** What the writes of one group need, under the lock of the journals. */
type RecordTransaction = {
  readonly journals: Readonly<
    Record<
      Audience,
      { readonly size: number; append(leafHash: Uint8Array, cells: readonly WrittenCell[]): number }
    >
  >
  readonly tuples: TupleQuery
  /** Sends a statement; if it fails, so does the group. */
  readonly send: (text: string, values: readonly unknown[]) => void
}

/** A version's chain, its number, its time, its body and its place. */
type WrittenCell = number | string | Uint8Array

/** Where writes go. */
export type WrittenStore = {
  readonly source: RecordSource
  write<Result>(run: (transaction: RecordTransaction) => Awaitable<Result>): Promise<Result>
  /** Runs a statement by itself. Its effect survives the process at once, and a power loss after the next write. */
  note(text: string, values: readonly unknown[]): Promise<unknown>
}

/** Topics whose turn is remembered, so that a write there is sealed once: operators free a few. */
const TURNS_KNOWN_MAX = 1_000

/** A chain as a group finds and leaves it. */
type HeldChain = StoredSlot & {
  readonly id: number
  readonly isErased: boolean
  /** Not, if no write of the group has its key yet: its tail is not known then. */
  readonly isOpened: boolean
  tail: Tail
}

/** A waiting write, with its request's digest, and the key of its chain, of the turn that it was sealed for. */
type HeldWrite = AskedWrite & {
  readonly macHash: string | undefined
  readonly turn: number
  readonly seal: ChainSeal
}

type RequestRow = readonly [macHash: string, audience: Audience, leaf: number, subscribers: number]

/** What a request made, if that version still holds, and how many sessions heard of it. */
type KnownRequest = {
  readonly record: CareRecord | undefined
  readonly isFreed: boolean
  readonly subscribers: number
}

/** What a group read, and what it changes. */
const newGroup = (transaction: RecordTransaction, source: RecordSource) => ({
  transaction,
  source,
  read: new Set<HeldWrite>(),
  /** By topic and requested audience: a chain of the other audience is here too, without its tail. */
  chains: new Map<string, HeldChain>(),
  requests: new Map<string, KnownRequest>(),
  /** By chain. */
  seals: new Map<string, ChainSeal>(),
  /** Names of erased chains that do not exist. */
  erased: new Set<string>(),
  /** By topic, how many of its chains were freed, if any. */
  turns: new Map<string, number>(),
  changed: new Set<HeldChain>(),
  newRequests: [] as (readonly unknown[])[],
  lastChain: 0,
})

type Group = ReturnType<typeof newGroup>

const LAST_CHAIN = 'SELECT coalesce(max(id), 0) FROM chains'
const FORGET = `DELETE FROM requests WHERE mac_hash IN
  (SELECT mac_hash FROM requests WHERE expires_at_ms < $1 LIMIT ${FORGOTTEN_PER_COMMIT})`

const topicOf = ({ patient, domain }: TopicName): string => `${patient}|${domain}`
const keyOf = (slot: ChainSlot): string => `${topicOf(slot)}|${slot.audience}`

/** What a known request made, if that still holds: in the chain that this write names again. */
function recordMade(group: Group, rows: readonly FoundRow[]): Omit<KnownRequest, 'subscribers'> {
  const [found] = foundChains(rows)
  if (found === undefined) return { record: undefined, isFreed: false }
  const slot = slotOfChain(found.chain)
  const seal = group.seals.get(chainName(slot))
  const record = seal && recordOfRow(found.versions[0], { slot, seal })
  return { record, isFreed: found.chain[8] > 0 }
}

type Options = AppendOptions & {
  readonly sourceOf: (tuples: TupleQuery) => RecordSource
}

/** Writes records, and remembers the signed requests that made them. */
export class RecordAppender {
  readonly #options: Options
  /** In the order of their writes: the first ones are those of the running group. */
  readonly #waiting = new Set<HeldWrite>()
  #group: Group | undefined
  /** How many chains of a topic were freed, where this process has met one. */
  readonly #turns = new BoundedMap<string, number>(TURNS_KNOWN_MAX)

  constructor(options: Options) {
    this.#options = options
  }

  /** Queues a write; resolves when it is durable. */
  async append(store: WrittenStore, asked: AskedWrite): Promise<AppendOutcome> {
    requireStorable(asked.record)
    // Again only for a topic that an operator freed since: each time takes another free.
    for (;;) {
      const result = await this.#try(store, asked)
      if (result.kind === 'known-broken')
        throw new RecordStoreUnavailable(
          'the version that this request made does not hold any more',
        )
      if (result.kind !== 'other-turn') return result
      this.#turns.set(topicOf(asked.record), result.turn)
    }
  }

  async #try(store: WrittenStore, asked: AskedWrite): Promise<WriteResult> {
    const { record, request } = asked
    const turn = this.#turns.get(topicOf(record)) ?? 0
    // Before the group: its key is durable first, and no lock is held while a place of keys is asked.
    const seal = await this.#options.seals.sealToWrite([chainName({ ...record, turn })], (chain) =>
      whenAnswered(
        [
          store.source.ask<readonly [unknown]>(ENDS_OF_CHAIN, [
            chain.patient,
            chain.domain,
            chain.turn,
          ]),
        ],
        ([rows]) => rows.map(([body]) => body),
      ),
    )
    const macHash = request === undefined ? undefined : macHashOf(request)
    const held = { ...asked, macHash, turn, seal }
    this.#waiting.add(held)
    try {
      return await store.write((transaction) =>
        whenAnswered([this.#groupOf(transaction, held)], ([group]) => this.#write(group, held)),
      )
    } finally {
      this.#waiting.delete(held)
    }
  }

  /** Ends a group: sends its changes, each table's rows together, and deletes rows that are too old. */
  finish(transaction: RecordTransaction): void {
    const group = this.#group
    if (group?.transaction !== transaction) return
    this.#group = undefined
    const { send } = transaction
    const { sql } = group.source
    const sendRows = (text: string, rows: readonly (readonly unknown[])[]): void => {
      for (const values of sql.batches(rows)) send(text, values)
    }
    const nowMs = this.#options.clock.unixMs()
    const chains = [...group.changed].map(({ audience, domain, id, patient, tail, turn }) => [
      id,
      patient,
      domain,
      audience,
      turn,
      tail.version,
      tail.versionHash,
    ])
    sendRows(sql.keepChains, chains)
    sendRows(sql.keepRequests, group.newRequests)
    send(FORGET, [nowMs - REQUEST_KEPT_MS])
  }

  /** The group of a transaction, with what a write needs. */
  #groupOf(transaction: RecordTransaction, held: HeldWrite): Awaitable<Group> {
    const known = this.#group
    if (known?.transaction === transaction)
      return known.read.has(held) ? known : this.#read(known, [held])
    const group = newGroup(transaction, this.#options.sourceOf(transaction.tuples))
    this.#group = group
    return this.#read(group, [...this.#waiting].slice(0, RECORDS.writesPerCommitMax))
  }

  /** Reads what writes need: chains with their tails, and requests with what they made. */
  #read(group: Group, writes: readonly HeldWrite[]): Awaitable<Group> {
    const { source } = group
    const slots = new Map<string, ChainSlot>()
    const macs: (readonly [string])[] = []
    for (const write of writes) {
      const { macHash, record, seal, turn } = write
      group.read.add(write)
      group.seals.set(chainName({ ...record, turn }), seal)
      if (group.chains.get(keyOf(record))?.isOpened !== true) slots.set(keyOf(record), record)
      if (macHash !== undefined) macs.push([macHash])
    }
    const found = AUDIENCES.map((audience) => {
      const names: (readonly string[])[] = []
      for (const slot of slots.values())
        if (slot.audience === audience) names.push([slot.patient, slot.domain])
      return askEach<FoundRow>(source, source.sql.of[audience].tails, names)
    })
    const requests = askEach<RequestRow>(source, source.sql.requests, macs)
    return whenAnswered([requests, ...found], ([known, ...rows]) => {
      for (const [at, audience] of AUDIENCES.entries()) this.#hold(group, audience, rows[at] ?? [])
      const begun = [...slots].filter(([key]) => !group.chains.has(key))
      return whenAnswered(
        [this.#readBegun(group, begun), this.#readMade(group, known)],
        () => group,
      )
    })
  }

  /** For chains that are missing: their turn, whether they were erased, and the id that new ones follow. */
  #readBegun(
    group: Group,
    begun: readonly (readonly [key: string, slot: ChainSlot])[],
  ): Awaitable<void> {
    if (begun.length === 0) return
    const { ask, sql } = group.source
    const topics = begun.map(([, { patient, domain }]) => [patient, domain])
    return whenAnswered(
      [
        ask<readonly [number]>(LAST_CHAIN),
        askEach<readonly [string, string, number]>(group.source, sql.freedOf, topics),
      ],
      ([[last], freed]) => {
        group.lastChain = Math.max(group.lastChain, last?.[0] ?? 0)
        for (const [patient, domain, turn] of freed)
          group.turns.set(topicOf({ patient, domain }), turn)
        const names = begun.map(([, slot]) => [
          chainName({ ...slot, turn: group.turns.get(topicOf(slot)) ?? 0 }),
        ])
        const erased = askEach<readonly [string]>(group.source, sql.erased, names)
        return whenAnswered([erased], ([rows]) => {
          for (const [name] of rows) group.erased.add(name)
        })
      },
    )
  }

  #readMade(group: Group, known: readonly RequestRow[]): Awaitable<void> {
    const { ask, sql } = group.source
    const made = known.map(([, audience, leaf]) => ask<FoundRow>(sql.of[audience].byLeaf, [leaf]))
    return whenAnswered(made, (rows) => {
      for (const [at, [macHash, , , subscribers]] of known.entries())
        group.requests.set(macHash, { ...recordMade(group, rows[at] ?? []), subscribers })
    })
  }

  #hold(group: Group, asked: Audience, rows: readonly FoundRow[]): void {
    for (const found of foundChains(rows)) {
      const slot = slotOfChain(found.chain)
      const seal = slot.audience === asked ? group.seals.get(chainName(slot)) : undefined
      const tail = seal === undefined ? NO_TAIL : tailOf(found, seal)
      group.chains.set(keyOf({ ...slot, audience: asked }), {
        ...slot,
        id: found.chain[0],
        isErased: isErased(found.chain),
        isOpened: slot.audience !== asked || seal !== undefined,
        tail,
      })
    }
  }

  #write(group: Group, held: HeldWrite): WriteResult {
    const { record, request, expectedVersion, macHash, seal } = held
    const repeated = macHash === undefined ? undefined : group.requests.get(macHash)
    if (repeated !== undefined) {
      const { isFreed, record: made, subscribers } = repeated
      if (isFreed) return { kind: 'erased' }
      return made === undefined
        ? { kind: 'known-broken' }
        : { kind: 'repeated', record: made, subscribers }
    }
    const { patient, domain, audience } = record
    const known = group.chains.get(keyOf(record))
    if (known !== undefined && known.audience !== audience) return { kind: 'audience-conflict' }
    const turn = known?.turn ?? group.turns.get(topicOf(record)) ?? 0
    if (known?.isErased ?? group.erased.has(chainName({ ...record, turn })))
      return { kind: 'erased' }
    if (turn !== held.turn) return { kind: 'other-turn', turn }
    const tail = known?.tail ?? NO_TAIL
    if (expectedVersion !== undefined && expectedVersion !== tail.version)
      return { kind: 'version-conflict', latestVersion: tail.version }
    const made = makeVersion(record, { ...this.#options, seal, tail, turn })
    const { version, versionHash, writtenAt } = made.record
    const chain = known ?? this.#newChain(group, { patient, domain, audience, turn })
    const { journals } = group.transaction
    const place = journals.user.size + journals.assistant.size
    const cells = [chain.id, version, writtenAt, made.body, place]
    const leafIndex = journals[audience].append(made.leafHash, cells)
    chain.tail = { version, versionHash, record: made.record }
    group.changed.add(chain)
    if (request !== undefined && macHash !== undefined) {
      group.requests.set(macHash, { record: made.record, isFreed: false, subscribers: 0 })
      group.newRequests.push([macHash, request.expiresAtMs, audience, leafIndex, 0])
    }
    return { kind: 'appended', record: made.record, previous: tail.record, place }
  }

  /** Begins a chain, whose name the other audience cannot use any more. */
  #newChain(group: Group, slot: StoredSlot): HeldChain {
    const id = (group.lastChain += 1)
    const made = { ...slot, id, isErased: false, isOpened: true, tail: NO_TAIL }
    for (const audience of AUDIENCES) group.chains.set(keyOf({ ...slot, audience }), made)
    return made
  }
}
