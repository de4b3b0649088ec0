/**
 * The chain of one record's versions (C8): how a version is hashed, and the replay that finds the first version that
 * does not hold. Storing, sealing and journaling versions live elsewhere.
 */
import { hash } from 'node:crypto'

/** The `prevHash` of a first version: 64 zeros. */
export const GENESIS_PREV_HASH = '0'.repeat(64)

/** The four hashed fields of a version. */
export type VersionContent = {
  /** Lower-case hex SHA-256 of the version before; `GENESIS_PREV_HASH` for the first. */
  readonly prevHash: string
  readonly value: string
  /** ISO 8601 time, as stored. */
  readonly writtenAt: string
  readonly authorId: string
}

/** One version of a record with the hash that was recorded for it. */
export type ChainedVersion = VersionContent & {
  /** Lower-case hex SHA-256 over the UTF-8 bytes of `versionPreimage`. */
  readonly versionHash: string
}

/** One version of a record as a store keeps it that keeps the hashed text itself. */
export type PreimagedVersion = {
  /** The text that was hashed, byte for byte what `versionPreimage` gave. */
  readonly preimage: string
  /** Lower-case hex SHA-256 over the UTF-8 bytes of `preimage`. */
  readonly versionHash: string
}

/**
 * Why a version does not hold. `link`: it does not name the hash of the version before. `hash`: its fields do not hash
 * to its recorded hash. `seal`: its sealed bytes do not open in its slot. `slot`: it is stored under another number,
 * patient, domain or audience than its place says.
 */
export type BreakReason = 'hash' | 'link' | 'seal' | 'slot'

/** What a replay of a chain finds; `versions` counts everything that was added, held or not. */
export type ChainVerdict =
  /** `headHash` is the hash of the last version, `GENESIS_PREV_HASH` for an empty chain. */
  | { readonly kind: 'intact'; readonly versions: number; readonly headHash: string }
  /** `version` is the first one that does not hold, counted from 1. */
  | {
      readonly kind: 'broken'
      readonly version: number
      readonly reason: BreakReason
      readonly versions: number
    }

/**
 * The text whose UTF-8 bytes are hashed: ECMAScript `JSON.stringify([prevHash, value, writtenAt, authorId])` (C8).
 * Being an array of JSON strings it is unambiguous: no two contents share one preimage.
 */
export function versionPreimage(content: VersionContent): string {
  return JSON.stringify([content.prevHash, content.value, content.writtenAt, content.authorId])
}

/** The content that a preimage was made of, or undefined for a text that `versionPreimage` never gives. */
export function parsePreimage(preimage: string): VersionContent | undefined {
  let parts: unknown
  try {
    parts = JSON.parse(preimage)
  } catch {
    return undefined
  }
  if (!Array.isArray(parts) || parts.length !== 4) return undefined
  const [prevHash, value, writtenAt, authorId]: readonly unknown[] = parts
  if (typeof prevHash !== 'string' || typeof value !== 'string') return undefined
  if (typeof writtenAt !== 'string' || typeof authorId !== 'string') return undefined
  const content = { prevHash, value, writtenAt, authorId }
  return versionPreimage(content) === preimage ? content : undefined
}

/** Lower-case hex SHA-256 over the UTF-8 bytes of a preimage. */
export function preimageHash(preimage: string): string {
  return hash('sha256', preimage)
}

/** Lower-case hex version hash (C8) of a version's content. */
export function versionHash(content: VersionContent): string {
  return preimageHash(versionPreimage(content))
}

/**
 * Whether a text holds half of a surrogate pair. Such a text has no UTF-8 form, so it can be neither stored nor sealed
 * without change (C8: `invalid_fields`).
 */
export function hasLoneSurrogate(text: string): boolean {
  return !text.isWellFormed()
}

/** A replay in progress: versions go in by order, first to last; memory does not grow with them. */
export type ChainReplay = {
  /** Checks the next version from its fields: its link, then its hash. */
  add(version: ChainedVersion): void
  /** Checks the next version from its stored preimage; the fast path, without serialising. */
  addPreimage(version: PreimagedVersion): void
  /** Counts the next version as one that its store could not even produce, and breaks the chain there. */
  addBroken(reason: BreakReason): void
  /** The verdict on everything added so far. */
  verdict(): ChainVerdict
}

/** Starts the replay of one chain. After a break, further versions are only counted: the first break is the verdict. */
export function createChainReplay(): ChainReplay {
  let versions = 0
  let headHash = GENESIS_PREV_HASH
  let broken: { version: number; reason: BreakReason } | undefined

  const take = (recordedHash: string, findBreak: () => BreakReason | undefined): void => {
    versions += 1
    if (broken !== undefined) return
    const reason = findBreak()
    if (reason === undefined) headHash = recordedHash
    else broken = { version: versions, reason }
  }

  return {
    add: (version) =>
      take(version.versionHash, () => {
        if (version.prevHash !== headHash) return 'link'
        return versionHash(version) === version.versionHash ? undefined : 'hash'
      }),
    addPreimage: ({ preimage, versionHash: recordedHash }) =>
      take(recordedHash, () => {
        if (!preimage.startsWith(`["${headHash}","`)) return 'link'
        return preimageHash(preimage) === recordedHash ? undefined : 'hash'
      }),
    addBroken: (reason) => take(headHash, () => reason),
    verdict: () =>
      broken === undefined
        ? { kind: 'intact', versions, headHash }
        : { kind: 'broken', ...broken, versions },
  }
}
