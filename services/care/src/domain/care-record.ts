import type { ChainSlot } from '../wire/record-uri.ts'
import type { Withdrawal } from '../wire/records.ts'

/** One stored version of a record, with its value in the clear. */
export type CareRecord = ChainSlot & {
  /** Empty in a version that withdraws the record, and in no other. */
  readonly value: string
  /** Why the record is withdrawn (C40). */
  readonly status?: Withdrawal | undefined
  readonly authorId: string
  readonly authorLabel: string
  /** ISO 8601, by the server's clock. */
  readonly writtenAt: string
  /** ISO 8601; after this the record is stale. */
  readonly staleAfter?: string | undefined
  readonly priority?: number | undefined
  /** A BCP 47 tag: what the value is written in. Not part of the version hash (C37). */
  readonly language?: string | undefined
  /** From 1, without gaps. */
  readonly version: number
  /** Lower-case hex; see packages/hashchain. */
  readonly versionHash: string
  readonly prevHash: string
}

/** What a writer supplies; the store sets the rest. */
export type NewRecord = Omit<CareRecord, 'writtenAt' | 'version' | 'versionHash' | 'prevHash'>

/** One record in one answer: who received it, or asked for it in vain. It never holds a value. */
export type ReadRow = {
  /** The token's `sub`. */
  readonly actor: string
  /** The method, tool or route of the request: `resources/read`, `verify/export`. */
  readonly way: string
  /** `not_found` also covers what the caller may not see: the trail reveals as little as the answer. */
  readonly outcome: 'served' | 'not_found' | 'broken'
  readonly uri: string
}

/** A row with its position in the trail, from 1 in order of arrival. */
export type KeptReadRow = ReadRow & {
  /** ISO 8601. */
  readonly at: string
  readonly sequence: number
}
