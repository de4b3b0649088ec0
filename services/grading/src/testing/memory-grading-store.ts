/**
 * The grading store in memory: for tests of what stands on it, and as the plain second reading of the port beside SQLite.
 * It keeps texts, not objects, so that whatever is read has gone through the ledger's own form.
 */
import { randomBytes } from 'node:crypto'
import {
  createNoteSigner,
  formatCheckpoint,
  inclusionProof,
  leafHash,
  preimageHash,
  rootOf,
} from '@tallystick/hashchain'
import { addIngested, advanceEvent, NOTHING_INGESTED, recount } from '../domain/advance-event.ts'
import { applyEntry } from '../domain/apply-entry.ts'
import { commitmentOf } from '../domain/commitment.ts'
import { countAll } from '../domain/count-all.ts'
import type { CommittedPick } from '../domain/event-contribution.ts'
import { eventPathOf } from '../domain/event-path-of.ts'
import type { EventInfo, EventState, RecordReference } from '../domain/event-state.ts'
import type {
  EventSearch,
  GradingStore,
  IngestBatch,
  IngestOutcome,
  KeepPickOutcome,
  LedgerVerdict,
  StoredEntry,
  StoredPick,
} from '../domain/grading-store.ts'
import { type LedgerEntry, writeEntry } from '../domain/ledger-entry.ts'
import { saltEntry } from '../domain/salt-entry.ts'
import { eventWords, matchesWords } from '../domain/search-words.ts'
import { emptyTruth, type MutableTruth, sameTruth } from '../domain/truth-table.ts'

/** A memory store, with a hand on its texts for tests that tamper. */
export type MemoryGradingStore = GradingStore & { readonly texts: string[] }

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

type MemoryParts = {
  readonly secret: string
  readonly texts: string[]
  readonly hashes: Uint8Array[]
  readonly states: Map<string, EventState>
  readonly picks: StoredPick[]
  readonly truth: MutableTruth
}

function append(parts: MemoryParts, entry: LedgerEntry): RecordReference {
  const { texts, hashes, secret, truth } = parts
  const text = writeEntry(saltEntry(entry, { secret, seq: texts.length }))
  const hash = leafHash(Buffer.from(text))
  texts.push(text)
  hashes.push(hash)
  truth.asOfSeq = texts.length
  return { seq: texts.length - 1, hash: hex(hash) }
}

const committedOn = ({ picks }: MemoryParts, path: string): readonly CommittedPick[] =>
  picks.flatMap(({ opening, seq }) =>
    seq !== undefined && eventPathOf(opening.market) === path ? [{ seq, opening }] : [],
  )

function entryAt({ texts, hashes }: MemoryParts, seq: number): StoredEntry | undefined {
  const [text, hash] = [texts[seq], hashes[seq]]
  if (text === undefined || hash === undefined) return undefined
  return { seq, text, hash: hex(hash), entry: JSON.parse(text) as LedgerEntry }
}

function check(parts: MemoryParts): LedgerVerdict {
  const { texts, hashes, picks, truth } = parts
  const folded = new Map<string, EventState>()
  for (let seq = 0; seq < texts.length; seq += 1) {
    const [text = '', leaf] = [texts[seq], hashes[seq]]
    const hash = hex(leafHash(Buffer.from(text)))
    if (leaf === undefined || hash !== hex(leaf))
      return { kind: 'broken', seq, problem: 'its text does not hash to its leaf' }
    const entry = JSON.parse(text) as LedgerEntry
    if (entry.type === 'pick') continue
    const { path } = entry.event
    folded.set(path, applyEntry(folded.get(path), entry, { seq, hash }))
  }
  for (const { seq, opening } of picks) {
    if (seq === undefined) continue
    const entry = entryAt(parts, seq)?.entry
    if (entry?.type !== 'pick' || entry.commitment !== commitmentOf(opening))
      return { kind: 'broken', seq, problem: 'its pick does not open its commitment' }
  }
  const counted = countAll(folded.values(), (path) => committedOn(parts, path))
  return sameTruth(truth, counted)
    ? { kind: 'intact', entries: texts.length, rootHash: rootOf(hashes) }
    : { kind: 'broken', problem: 'the truth table is not what the ledger comes to' }
}

function ingest(parts: MemoryParts, { observations, ...batch }: IngestBatch): IngestOutcome {
  const { states, truth } = parts
  let outcome = NOTHING_INGESTED
  for (const observation of observations) {
    const { path } = observation.event
    const advanced = advanceEvent({
      state: states.get(path),
      picks: () => committedOn(parts, path),
      observation,
      batch,
      truth,
      append: (entry) => append(parts, entry),
    })
    if (advanced.state !== undefined) states.set(path, advanced.state)
    outcome = addIngested(outcome, advanced.outcome)
  }
  return outcome
}

function keepPick(
  parts: MemoryParts,
  pick: Omit<StoredPick, 'seq'>,
  commit: boolean,
): KeepPickOutcome {
  const { picks, states, truth } = parts
  const known = picks.find(({ paymentId }) => paymentId === pick.paymentId)
  if (known !== undefined) return { kind: 'known', pick: known }
  if (!commit) {
    picks.push(pick)
    return { kind: 'kept', pick }
  }
  const { receivedAtSeconds } = pick.opening
  const path = eventPathOf(pick.opening.market)
  const beforePicks = committedOn(parts, path)
  const commitment = commitmentOf(pick.opening)
  const { seq } = append(parts, { type: 'pick', commitment, receivedAtSeconds })
  const kept = { ...pick, seq }
  picks.push(kept)
  const state = states.get(path)
  const afterPicks = committedOn(parts, path)
  recount(truth, { before: state, after: state, beforePicks, afterPicks })
  return { kind: 'kept', pick: kept }
}

function searchEvents(parts: MemoryParts, search: EventSearch): readonly EventInfo[] {
  const { sport, from = -Infinity, to = Infinity, limit } = search
  return [...parts.states.values()]
    .map(({ info }) => info)
    .filter(
      (info) =>
        (sport === undefined || info.sport === sport) &&
        info.startAtSeconds >= from &&
        info.startAtSeconds < to &&
        matchesWords(eventWords(info), search),
    )
    .toSorted((one, other) => other.startAtSeconds - one.startAtSeconds)
    .slice(0, limit)
}

/** An empty store; its checkpoints are signed by the given Ed25519 seed of 32 bytes. */
export function createMemoryGradingStore(
  options: { readonly origin?: string; readonly seed?: Uint8Array } = {},
): MemoryGradingStore {
  const seed = options.seed ?? new Uint8Array(32).fill(7)
  const signer = createNoteSigner({ keyName: options.origin ?? 'grading.test/ledger', seed })
  const payloads = new Set<string>()
  const secret = randomBytes(32).toString('hex')
  const parts: MemoryParts = {
    secret,
    texts: [],
    hashes: [],
    states: new Map(),
    picks: [],
    truth: emptyTruth(),
  }
  const { texts, hashes, states, picks, truth } = parts
  const head = () => ({ size: texts.length, rootHash: rootOf(hashes) })
  return {
    texts,
    events: async (paths) => paths.map((path) => states.get(path)),
    searchEvents: async (search) => searchEvents(parts, search),
    ingest: async (batch) => ingest(parts, batch),
    hasPayload: async (rawSha256) => payloads.has(rawSha256),
    markPayload: async ({ rawSha256 }) => {
      payloads.add(rawSha256)
    },
    keepPick: async (pick, commit) => keepPick(parts, pick, commit),
    payerTag: async (payer) => preimageHash(`${secret} ${payer}`).slice(0, 32),
    pickByReceipt: async (receipt) => picks.find((pick) => pick.receipt === receipt),
    pickByPayment: async (paymentId) => picks.find((pick) => pick.paymentId === paymentId),
    pickBySeq: async (seq) => picks.find((pick) => pick.seq === seq),
    picksOf: async (path) =>
      picks.filter(({ opening, seq }) => seq !== undefined && eventPathOf(opening.market) === path),
    entry: async (seq) => entryAt(parts, seq),
    entries: async function* ({ from, to }) {
      for (let seq = from; seq < Math.min(to, texts.length); seq += 1) {
        const stored = entryAt(parts, seq)
        if (stored !== undefined) yield stored
      }
    },
    head: async () => head(),
    checkpoint: async () => ({
      note: signer.sign(formatCheckpoint({ origin: signer.keyName, ...head() })),
      verifierKey: signer.verifierKey,
    }),
    inclusionProof: async (index, size) =>
      inclusionProof({
        index,
        size,
        leafHashes: ({ from, to }) => hashes.slice(from, to),
      }).map(hex),
    truth: async () => truth,
    counts: async () => ({ entries: texts.length, events: states.size, picks: picks.length }),
    verify: async () => check(parts),
    close: async () => undefined,
  }
}
