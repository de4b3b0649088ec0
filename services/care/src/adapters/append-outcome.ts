// The outcome of a write: the version that follows a chain's tail.
import { hash, randomBytes } from 'node:crypto'
import type { BodySeal } from '@tallystick/journal-store'
import type { Clock } from '@tallystick/service-kit'
import type { NewRecord } from '../domain/care-record.ts'
import {
  ENTRY_RANDOM_BYTES,
  entryLeafHash,
  nextEntry,
  recordOf,
  writeJournalEntry,
} from '../domain/journal-entry.ts'
import type { AppendOutcome, RequestKey } from '../domain/record-store.ts'
import type { ChainSeals } from './chain-keys.ts'
import { slotTextOf, type Tail } from './stored-record.ts'

export type AskedWrite = {
  readonly record: NewRecord
  readonly request: RequestKey | undefined
  /** The version that the writer saw, 0 for none. */
  readonly expectedVersion: number | undefined
}

/** The outcome of one write inside its transaction. */
export type WriteResult =
  | AppendOutcome
  /** The request is known, but the version that it made no longer holds. */
  | { readonly kind: 'known-broken' }
  /** The topic was freed since this write was sealed: it needs the key of another turn. */
  | { readonly kind: 'other-turn'; readonly turn: number }

/** The MAC itself is not kept: a reader of the disk could send the write again. */
export const macHashOf = (request: RequestKey): string => hash('sha256', request.mac)

export type AppendOptions = {
  readonly seals: ChainSeals
  readonly clock: Clock
  /** Draws what makes equal entries differ, ENTRY_RANDOM_BYTES in hex; a test that compares stores brings its own. */
  readonly random?: (() => string) | undefined
}

const drawRandom = (): string => randomBytes(ENTRY_RANDOM_BYTES).toString('hex')

/** Makes the version that follows a chain's tail; its body is text, or sealed bytes. */
export function makeVersion(
  record: NewRecord,
  {
    clock,
    random = drawRandom,
    seal,
    tail,
    turn,
  }: Omit<AppendOptions, 'seals'> & {
    readonly seal: BodySeal
    readonly tail: Tail
    readonly turn: number
  },
) {
  const entry = nextEntry({
    record,
    prevHash: tail.versionHash,
    version: tail.version + 1,
    writtenAt: new Date(clock.unixMs()).toISOString(),
    random: random(),
  })
  const text = writeJournalEntry(entry)
  return {
    record: recordOf(entry),
    leafHash: Buffer.from(entryLeafHash(text), 'hex'),
    body: seal.close(text, slotTextOf({ ...record, turn })(entry.version)),
  }
}
