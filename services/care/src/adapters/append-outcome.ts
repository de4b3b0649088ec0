// The outcome of a write: the version that follows a chain's tail. A repeated request waits here for the first one's answer.
import { hash, randomBytes } from 'node:crypto'
import type { BodySeal } from '@tallystick/journal-store'
import type { Clock } from '@tallystick/service-kit'
import type { CareRecord, NewRecord } from '../domain/care-record.ts'
import {
  ENTRY_RANDOM_BYTES,
  entryLeafHash,
  nextEntry,
  recordOf,
  writeJournalEntry,
} from '../domain/journal-entry.ts'
import {
  type AppendOutcome,
  REPEAT_WAIT_MS,
  RecordStoreUnavailable,
  type RequestKey,
} from '../domain/record-store.ts'
import { slotTextOf, type Tail } from './stored-record.ts'

export type AskedWrite = {
  readonly record: NewRecord
  readonly request: RequestKey | undefined
  /** The version that the writer has seen, 0 for none. */
  readonly expectedVersion: number | undefined
}

/** What one write comes to inside its transaction. */
export type WriteResult =
  | Exclude<AppendOutcome, { kind: 'repeated' }>
  | { readonly kind: 'known'; readonly record: CareRecord }
  /** The request is known, but the version that it made does not hold any more. */
  | { readonly kind: 'known-broken' }

/** The MAC itself is not kept: whoever reads the disk could send the write again. */
export const macHashOf = (request: RequestKey): string => hash('sha256', request.mac)

/** Why a write may not follow a tail. */
export function refusedBehind(
  tail: Pick<Tail, 'version'>,
  expectedVersion: number | undefined,
): Extract<AppendOutcome, { kind: 'version-conflict' }> | undefined {
  return expectedVersion === undefined || expectedVersion === tail.version
    ? undefined
    : { kind: 'version-conflict', latestVersion: tail.version }
}

/** What a record becomes behind a tail. */
type MadeVersion = {
  readonly record: CareRecord
  readonly leafHash: Uint8Array
  /** Text, or sealed bytes. */
  readonly body: string | Uint8Array
}

export type AppendOptions = {
  readonly seal: BodySeal
  readonly clock: Clock
  /** Draws what makes equal entries differ, ENTRY_RANDOM_BYTES in hex; a test that compares stores brings its own. */
  readonly random?: (() => string) | undefined
}

const HEX_CHARS = 2 * ENTRY_RANDOM_BYTES
/** Entries that share a draw, which costs as much as hashing an entry. */
const ENTRIES_PER_DRAW = 128
let drawn = ''

function drawRandom(): string {
  if (drawn === '') drawn = randomBytes(ENTRY_RANDOM_BYTES * ENTRIES_PER_DRAW).toString('hex')
  const random = drawn.slice(0, HEX_CHARS)
  drawn = drawn.slice(HEX_CHARS)
  return random
}

/** Makes the version that follows a chain's tail. */
export function makeVersion(
  record: NewRecord,
  { tail, seal, clock, random = drawRandom }: AppendOptions & { readonly tail: Tail },
): MadeVersion {
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
    body: seal.close(text, slotTextOf(record)(entry.version)),
  }
}

/** Signed requests whose write is done and whose subscribers are not counted yet. */
export class RepeatedRequests {
  readonly #clock: Clock
  readonly #uncounted = new Map<string, { readonly done: Promise<void>; settle(): void }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The answer to a write; a repeated one's waits until the first one's subscribers are counted. */
  async answer(
    result: WriteResult,
    request: RequestKey | undefined,
    subscribersOf: (request: RequestKey) => Promise<number>,
  ): Promise<AppendOutcome> {
    if (result.kind === 'known-broken')
      throw new RecordStoreUnavailable('the version that this request made does not hold any more')
    if (result.kind !== 'known') {
      if (result.kind === 'appended' && request !== undefined) this.#awaitCount(request.mac)
      return result
    }
    if (request === undefined) throw new Error('only a request can be known')
    await this.#uncounted.get(request.mac)?.done
    return {
      kind: 'repeated',
      record: result.record,
      subscribers: await subscribersOf(request),
    }
  }

  settle({ mac }: RequestKey): void {
    this.#uncounted.get(mac)?.settle()
  }

  #awaitCount(mac: string): void {
    const { promise: done, resolve } = Promise.withResolvers<void>()
    const settle = (): void => {
      cancel()
      this.#uncounted.delete(mac)
      resolve()
    }
    const cancel = this.#clock.after(REPEAT_WAIT_MS, settle)
    this.#uncounted.set(mac, { done, settle })
  }
}
