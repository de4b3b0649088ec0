/** Who may hear a record: `user` may be spoken to the person, `assistant` must never be. Fixed for a chain. */
export type Audience = 'user' | 'assistant'

/** Where a chain lives. `patient` and `domain` are not empty and hold neither `/` nor `|`. */
export type ChainSlot = {
  readonly patient: string
  readonly domain: string
  readonly audience: Audience
}

/** One version of a record as it is stored, its value in the clear. */
export type CareRecord = ChainSlot & {
  readonly value: string
  readonly authorId: string
  readonly authorLabel: string
  /** ISO 8601, set by the server's clock. */
  readonly writtenAt: string
  /** ISO 8601; after it the record is stale. */
  readonly staleAfter?: string
  readonly priority?: number
  /** From 1, without gaps. */
  readonly version: number
  /** Lower-case hex; see packages/hashchain. */
  readonly versionHash: string
  readonly prevHash: string
}

/** What a writer brings; the store sets the rest. */
export type NewRecord = Omit<CareRecord, 'writtenAt' | 'version' | 'versionHash' | 'prevHash'>
