// A write, top to bottom, on either engine: the key of its chain, then its group's memory, the decision, and the row. The journal
// store groups writes into commits and answers each when it is on the disk (C14).
import { hash, randomBytes } from 'node:crypto'
import type { Store } from '@tallystick/journal-store'
import { BoundedMap, type Clock } from '@tallystick/service-kit'
import type { NewRecord } from '../domain/care-record.ts'
import { decideWrite, type WriteDecision } from '../domain/decide-write.ts'
import { ENTRY_RANDOM_BYTES, requireStorable } from '../domain/journal-entry.ts'
import {
  type AppendOutcome,
  type RecordStore,
  RecordStoreUnavailable,
  type RequestKey,
} from '../domain/record-store.ts'
import type { Audience } from '../wire/records.ts'
import { type ChainSeals, chainName } from './chain-keys.ts'
import type { PreparedWrite, RecordMemory } from './record-memory.ts'
import { ENDS_OF_CHAIN, type RecordSource } from './record-sql.ts'
import { slotTextOf } from './stored-record.ts'

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

type Asked = {
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
  async function prepare({ expectedVersion, record, request }: Asked): Promise<PreparedWrite> {
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
      const writtenAt = new Date(clock.unixMs()).toISOString()
      const decision = decideWrite(prepared, memory.find(prepared), { writtenAt, random: random() })
      if (decision.kind !== 'version') return decision
      const { changesList, entry, leafHash, record } = decision
      const { seal, turn } = prepared
      const body = seal.close(entry, slotTextOf({ ...record, turn })(record.version))
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

  async function append(asked: Asked): Promise<AppendOutcome> {
    requireStorable(asked.record)
    // Again only for a topic that an operator freed since: each time takes another free.
    for (;;) {
      const decision = await write(await prepare(asked))
      if (decision.kind === 'known-broken')
        throw new RecordStoreUnavailable(
          'the version that this request made does not hold any more',
        )
      if (decision.kind !== 'other-turn') return decision
      turns.set(chainName({ ...asked.record, turn: 0 }), decision.turn)
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
