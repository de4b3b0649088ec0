/**
 * Verifying the ledger, alike for every engine: what hashes to the leaves must also be filed right, every committed pick
 * must open its commitment, and the truth table be what the events come to when they are folded and counted again.
 */
import type { CompactRange } from '@tallystick/hashchain'
import type { verifyJournal } from '@tallystick/journal-store'
import { type CommittedPick, commitmentOf, type PickOpening } from '../domain/committed-pick.ts'
import { eventContribution } from '../domain/event-contribution.ts'
import type { LedgerVerdict } from '../domain/grading-store.ts'
import type { LedgerEntry } from '../domain/ledger-entry.ts'
import { emptyTruth, readCell, sameTruth } from '../domain/truth-table.ts'
import { TruthTally } from '../domain/truth-tally.ts'
import { type EntryRow, foldEvent } from './stored-rows.ts'

/** Entries, events or picks in a slice: some 10 ms. */
export const PER_SLICE = 500

/** `path` is of the event that the entry is filed under. */
export type FiledRow = readonly [seq: number, hash: Uint8Array, text: string, path: string | null]

/** A committed pick's place and opening, and the text of the entry in that place. */
export type CommittedRow = readonly [seq: number, opening: string, text: string | null]

type Slice<Item> = readonly Item[] | Promise<readonly Item[]>

/** What is verified, in slices of at most PER_SLICE in the order of their key; others run between them. */
type StoredLedger = {
  /** The first pass: entries in order, against leaves, nodes and signed checkpoint, each looked at by `checkFiled`. */
  verifyEntries(): ReturnType<typeof verifyJournal>
  /** The head that the last commit stored. */
  head(): CompactRange | Promise<CompactRange>
  /** Events after an id, with their entries in order and the picks committed on them. */
  eventsAfter(id: number): Slice<{
    readonly id: number
    readonly entries: readonly EntryRow[]
    readonly picks: readonly CommittedPick[]
  }>
  /** Committed picks after a place in the ledger. */
  picksAfter(seq: number): Slice<CommittedRow>
  /** Cells of the truth table by their key. */
  cells(): Slice<readonly [key: string, cell: string]>
  pause(): Promise<void>
}

type Broken = Extract<LedgerVerdict, { kind: 'broken' }>

const broken = (problem: string, seq?: number): Broken => ({ kind: 'broken', problem, seq })

function parsed(text: string): LedgerEntry | undefined {
  try {
    return JSON.parse(text) as LedgerEntry
  } catch {
    return undefined
  }
}

/** What is wrong with an entry whose text hashes to its leaf. */
export function checkFiled([, , text, path]: FiledRow): string | undefined {
  const entry = parsed(text)
  if (entry === undefined) return 'its text is not JSON'
  const belongs = entry.type === 'pick' ? null : entry.event.path
  return belongs === path ? undefined : 'the index of events does not lead to it'
}

async function checkPicks(ledger: StoredLedger): Promise<Broken | undefined> {
  for (let last = -1; ; ) {
    const slice = await ledger.picksAfter(last)
    for (const [seq, opening, text] of slice) {
      const found = text === null ? undefined : parsed(text)
      const commitment = commitmentOf(JSON.parse(opening) as PickOpening)
      if (found?.type !== 'pick' || found.commitment !== commitment)
        return broken('its pick does not open its commitment', seq)
      last = seq
    }
    if (slice.length < PER_SLICE) return undefined
    await ledger.pause()
  }
}

async function checkTruth(ledger: StoredLedger): Promise<Broken | undefined> {
  const tally = new TruthTally()
  for (let last = 0; ; ) {
    const slice = await ledger.eventsAfter(last)
    for (const { id, entries, picks } of slice) {
      last = id
      const state = foldEvent(entries)
      if (state === undefined) continue
      tally.add(eventContribution(state, picks), 1)
    }
    if (slice.length < PER_SLICE) break
    await ledger.pause()
  }
  const [counted, stored] = [emptyTruth(), emptyTruth()]
  tally.mergeInto(counted)
  for (const [key, cell] of await ledger.cells()) readCell(stored, key, cell)
  return sameTruth(stored, counted)
    ? undefined
    : broken('the truth table is not what the ledger comes to')
}

/** Verifies everything; names the first entry that does not hold, where one can be named. */
export async function verifyLedger(ledger: StoredLedger): Promise<LedgerVerdict> {
  const entries = await ledger.verifyEntries()
  if (entries.kind === 'broken') return broken(entries.problem, entries.index)
  const head = await ledger.head()
  // Entries that came while this ran are beyond what was read; the head is compared where nothing came.
  if (head.size === entries.size && Buffer.compare(head.rootHash(), entries.rootHash) !== 0)
    return broken('the entries do not hash to the stored head')
  if (head.size < entries.size) return broken('there are entries beyond the stored head', head.size)
  const problem = (await checkPicks(ledger)) ?? (await checkTruth(ledger))
  return problem ?? { kind: 'intact', entries: entries.size, rootHash: entries.rootHash }
}
