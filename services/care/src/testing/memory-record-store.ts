// A record store that keeps everything in memory, for tests of what stands on the port. It passes the same suite as the
// SQLite store; `tamper` changes stored text behind its back.
import {
  type CompactRange,
  createCompactRange,
  createNoteSigner,
  formatCheckpoint,
  GENESIS_PREV_HASH,
  type NoteSigner,
} from '@tallystick/hashchain'
import { type Clock, manualClock } from '@tallystick/service-kit'
import type { CareRecord, NewRecord } from '../domain/care-record.ts'
import {
  ENTRY_RANDOM_BYTES,
  entryLeafHash,
  nextEntry,
  readJournalEntry,
  recordOf,
  writeJournalEntry,
} from '../domain/journal-entry.ts'
import {
  type AppendOutcome,
  type ChainHead,
  type ChainVerification,
  type ReadOutcome,
  type RecordStore,
  type RequestKey,
  requireStorable,
} from '../domain/record-store.ts'
import {
  exportCheckpoint,
  exportedJournals,
  exportHeader,
  exportLeaves,
  exportVersion,
} from '../domain/record-store-export.ts'
import { createRepeatedRequests, type RepeatedRequests } from '../domain/record-store-requests.ts'
import { createStoredChainReplay, createVersionCheck } from '../domain/verify-chain.ts'
import { type ChainSlot, chainUri } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'

type MemoryVersion = {
  slot: ChainSlot
  version: number
  leafIndex: number
  leafHash: string
  entry: string
  writtenAt: string
}

type MemoryChain = {
  readonly slot: ChainSlot
  readonly sequence: number
  readonly versions: MemoryVersion[]
  headHash: string
  writtenAt: string
  priority?: number | undefined
}

type MemoryJournal = {
  readonly leaves: MemoryVersion[]
  readonly tree: CompactRange
  readonly signer: NoteSigner
}

/** Any Ed25519 seed serves a test. */
const TEST_SEED = new Uint8Array(32).fill(7)

const journalOf = (audience: Audience): MemoryJournal => ({
  leaves: [],
  tree: createCompactRange(),
  signer: createNoteSigner({ keyName: `memory.test/care/${audience}`, seed: TEST_SEED }),
})

const byText = (left: string, right: string): number => Number(left > right) - Number(left < right)

const keyOf = ({ patient, domain }: Pick<ChainSlot, 'patient' | 'domain'>): string =>
  `${patient}|${domain}`

type VerifyQuery = Parameters<RecordStore['verify']>[0]

function recordIn(version: MemoryVersion): CareRecord {
  const entry = readJournalEntry(version.entry)
  if (entry === undefined) throw new TypeError('a stored entry was tampered with')
  return recordOf(entry)
}

function read(chain: MemoryChain | undefined, version: number): ReadOutcome {
  const stored = chain?.versions[version - 1]
  if (chain === undefined || stored === undefined) return { kind: 'absent' }
  const found = createVersionCheck(chain.slot)(stored)
  if (found.kind === 'broken') return { kind: 'broken', version }
  return { kind: 'found', record: recordIn(stored), latestVersion: chain.versions.length }
}

function headOf(chain: MemoryChain): ChainHead {
  const { slot, versions, writtenAt, priority, sequence } = chain
  const shown = priority === undefined ? {} : { priority }
  return { ...slot, latestVersion: versions.length, writtenAt, ...shown, sequence }
}

function noteOf({ tree, signer }: MemoryJournal): string {
  const { size } = tree
  const rootHash = tree.rootHash()
  return signer.sign(formatCheckpoint({ origin: signer.keyName, size, rootHash }))
}

/** The store of `createMemoryRecordStore`. */
export class MemoryRecordStore implements RecordStore {
  readonly #clock: Clock
  readonly #chains = new Map<string, MemoryChain>()
  readonly #journals = { user: journalOf('user'), assistant: journalOf('assistant') }
  readonly #remembered = new Map<string, { version: MemoryVersion; subscribers: number }>()
  readonly #requests: RepeatedRequests

  constructor(clock: Clock) {
    this.#clock = clock
    this.#requests = createRepeatedRequests(clock)
  }

  /** Changes the stored text of a version, as someone with the disk in hand would. */
  tamper(slot: ChainSlot, version: number, change: (entry: string) => string): void {
    const stored = this.#find(slot)?.versions[version - 1]
    if (stored === undefined) throw new TypeError('there is no such version to tamper with')
    stored.entry = change(stored.entry)
  }

  async append(record: NewRecord, request?: RequestKey): Promise<AppendOutcome> {
    requireStorable(record)
    const known = request === undefined ? undefined : this.#remembered.get(request.mac)
    if (request !== undefined && known !== undefined) {
      await this.#requests.told(request.mac)
      return { kind: 'repeated', record: recordIn(known.version), subscribers: known.subscribers }
    }
    const chain = this.#openChain(record)
    if (chain.slot.audience !== record.audience) return { kind: 'audience-conflict' }
    const version = this.#store(chain, record)
    if (request !== undefined) {
      this.#remembered.set(request.mac, { version, subscribers: 0 })
      this.#requests.begin(request.mac)
    }
    return { kind: 'appended', record: recordIn(version) }
  }

  async noteSubscribers({ mac }: RequestKey, subscribers: number): Promise<void> {
    const known = this.#remembered.get(mac)
    if (known !== undefined) known.subscribers = subscribers
    this.#requests.settle(mac)
  }

  async latest(slot: ChainSlot): Promise<ReadOutcome> {
    const chain = this.#find(slot)
    return read(chain, chain?.versions.length ?? 0)
  }

  async version(slot: ChainSlot, version: number): Promise<ReadOutcome> {
    return read(this.#find(slot), version)
  }

  async head(slot: ChainSlot): Promise<ChainHead | undefined> {
    const chain = this.#find(slot)
    return chain === undefined ? undefined : headOf(chain)
  }

  async heads(query: Parameters<RecordStore['heads']>[0]): Promise<readonly ChainHead[]> {
    const { audiences, after = 0, limit, patient } = query
    return this.#chosen({ audiences })
      .filter(({ slot }) => patient === undefined || slot.patient === patient)
      .filter(({ sequence }) => sequence > after)
      .slice(0, limit)
      .map(headOf)
  }

  async changesSince(
    query: Parameters<RecordStore['changesSince']>[0],
  ): Promise<readonly CareRecord[]> {
    return this.#chosen(query)
      .filter(({ slot }) => slot.patient === query.patient)
      .flatMap((chain) => chain.versions.map(({ version }) => read(chain, version)))
      .flatMap((outcome) => (outcome.kind === 'found' ? [outcome.record] : []))
      .filter(({ writtenAt }) => writtenAt >= query.sinceIso)
      .toSorted((left, right) => byText(left.writtenAt, right.writtenAt))
      .slice(0, query.limit)
  }

  async *verify(query: VerifyQuery): AsyncGenerator<ChainVerification> {
    for (const { slot, versions, headHash } of this.#chosen(query)) {
      const replay = createStoredChainReplay(slot)
      for (const version of versions) replay.add(version)
      const { broken } = replay.end({ version: versions.length, versionHash: headHash })
      const storedBytes = Buffer.byteLength(versions.at(-1)?.entry ?? '')
      yield {
        slot,
        versions: versions.length,
        intact: broken === undefined,
        ...(broken === undefined ? {} : { brokenAt: broken.version }),
        receipt: { uri: chainUri(slot), encrypted: false, algorithm: 'none', storedBytes },
      }
    }
  }

  async checkpoint(audience: Audience): Promise<string> {
    return noteOf(this.#journals[audience])
  }

  verifierKey(audience: Audience): string {
    return this.#journals[audience].signer.verifierKey
  }

  async *exportLines(query: VerifyQuery): AsyncGenerator<string> {
    yield exportHeader(query)
    const isChosen = ({ slot }: MemoryVersion): boolean =>
      query.slot === undefined || chainUri(query.slot) === chainUri(slot)
    for (const journal of exportedJournals(query)) {
      const { leaves, signer } = this.#journals[journal]
      yield exportLeaves({ journal, from: 0, hashes: leaves.map(({ leafHash }) => leafHash) })
      for (const stored of leaves.filter(isChosen)) {
        const lone = createVersionCheck(stored.slot)(stored)
        const whole = { kind: 'entry', text: stored.entry } as const
        yield exportVersion({ ...stored, found: lone.kind === 'broken' ? lone : whole })
      }
      const note = noteOf(this.#journals[journal])
      yield exportCheckpoint({ journal, note, verifierKey: signer.verifierKey })
    }
  }

  sealing(): { readonly isSealed: boolean } {
    return { isSealed: false }
  }

  async close(): Promise<void> {}

  #find(slot: ChainSlot): MemoryChain | undefined {
    const chain = this.#chains.get(keyOf(slot))
    return chain?.slot.audience === slot.audience ? chain : undefined
  }

  #chosen(query: VerifyQuery): readonly MemoryChain[] {
    return [...this.#chains.values()].filter(
      ({ slot }) =>
        query.audiences.includes(slot.audience) &&
        (query.slot === undefined || chainUri(query.slot) === chainUri(slot)),
    )
  }

  #openChain({ patient, domain, audience }: ChainSlot): MemoryChain {
    const known = this.#chains.get(keyOf({ patient, domain }))
    if (known !== undefined) return known
    const slot = { patient, domain, audience }
    const sequence = this.#chains.size + 1
    const chain = { slot, sequence, versions: [], headHash: GENESIS_PREV_HASH, writtenAt: '' }
    this.#chains.set(keyOf(slot), chain)
    return chain
  }

  #store(chain: MemoryChain, record: NewRecord): MemoryVersion {
    const entry = nextEntry({
      record,
      prevHash: chain.headHash,
      version: chain.versions.length + 1,
      writtenAt: new Date(this.#clock.unixMs()).toISOString(),
      random: Buffer.from(crypto.getRandomValues(new Uint8Array(ENTRY_RANDOM_BYTES))).toString(
        'hex',
      ),
    })
    const text = writeJournalEntry(entry)
    const { leaves, tree } = this.#journals[record.audience]
    const version: MemoryVersion = {
      slot: chain.slot,
      version: entry.version,
      leafIndex: leaves.length,
      leafHash: entryLeafHash(text),
      entry: text,
      writtenAt: entry.writtenAt,
    }
    chain.versions.push(version)
    chain.headHash = entry.versionHash
    chain.writtenAt = entry.writtenAt
    chain.priority = entry.priority
    leaves.push(version)
    tree.append(Buffer.from(version.leafHash, 'hex'))
    return version
  }
}

/** An empty store. Without a clock its time stands still at 2026-01-01T00:00:00Z. */
export function createMemoryRecordStore(
  options: { readonly clock?: Clock } = {},
): MemoryRecordStore {
  return new MemoryRecordStore(options.clock ?? manualClock(Date.UTC(2026, 0, 1)))
}
