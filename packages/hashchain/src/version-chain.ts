/** One version of a record as it is hashed. */
export type ChainedVersion = {
  /** Lower-case hex SHA-256 of the version before; 64 zeros for the first. */
  readonly prevHash: string
  readonly value: string
  /** ISO 8601 time, as stored. */
  readonly writtenAt: string
  readonly authorId: string
  /** Lower-case hex SHA-256 over the UTF-8 bytes of `JSON.stringify([prevHash, value, writtenAt, authorId])`. */
  readonly versionHash: string
}

/** What a replay of a chain finds. */
export type ChainVerdict =
  | { readonly kind: 'intact'; readonly versions: number; readonly headHash: string }
  /** `version` is the first one that does not hold, counted from 1. */
  | {
      readonly kind: 'broken'
      readonly version: number
      readonly reason: 'hash' | 'link' | 'seal' | 'slot'
    }
