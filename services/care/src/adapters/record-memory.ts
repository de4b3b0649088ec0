// What a group of writes reads at once, under the lock of the journals, and what it changes: chains with their tails, and known
// requests. Each write finds here what those before it left; at the end the changes are rows.
import type { GroupMemory, Rows, Statement } from '@tallystick/journal-store'
import type { Clock } from '@tallystick/service-kit'
import type { NewRecord } from '../domain/care-record.ts'
import {
  type KnownRequest,
  type MetByWrite,
  type NextVersion,
  NO_TAIL,
  type Tail,
} from '../domain/decide-write.ts'
import type { TopicName } from '../domain/record-store.ts'
import type { ChainSlot } from '../wire/record-uri.ts'
import { AUDIENCES, type Audience } from '../wire/records.ts'
import { type ChainSeal, chainName } from './chain-keys.ts'
import { type FoundRow, foundChains, type RecordSource } from './record-sql.ts'
import {
  isChainWithdrawn,
  isErased,
  recordOfRow,
  type StoredSlot,
  slotOfChain,
  tailOf,
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

  constructor(of: {
    readonly chains: ReadonlyMap<string, KnownChain>
    readonly requests: ReadonlyMap<string, KnownRequest>
    readonly erased: ReadonlySet<string>
    readonly turns: ReadonlyMap<string, number>
    readonly lastChain: number
  }) {
    for (const [slot, chain] of of.chains) this.#chains.set(slot, chain)
    for (const [macHash, request] of of.requests) this.#requests.set(macHash, request)
    this.#erased = of.erased
    this.#turns = of.turns
    this.#lastChain = of.lastChain
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
    read: (rows, asked) => readMemory(openSource(rows), asked),
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
        tail: seal === undefined ? NO_TAIL : tailOf(found, seal),
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
  of: { readonly known: readonly RequestRow[]; readonly seals: ReadonlyMap<string, ChainSeal> },
): Promise<ReadonlyMap<string, KnownRequest>> {
  const made = of.known.map(async ([macHash, audience, leaf, subscribers]) => {
    const [found] = foundChains(await ask<FoundRow>(sql.of[audience].byLeaf, [leaf]))
    if (found === undefined)
      return [macHash, { record: undefined, isFreed: false, subscribers }] as const
    const slot = slotOfChain(found.chain)
    const seal = of.seals.get(chainName(slot))
    const record = seal && recordOfRow(found.versions[0], { slot, seal })
    return [macHash, { record, isFreed: found.chain[8] > 0, subscribers }] as const
  })
  return new Map(await Promise.all(made))
}
