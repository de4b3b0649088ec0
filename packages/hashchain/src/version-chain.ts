// How each version of a record is hashed over the previous one (C8). Storing, sealing, journaling and replaying versions
// live with their store.

import { preimageHash } from './merkle-tree.ts'

/** The `prevHash` of a first version: 64 zeros. */
export const GENESIS_PREV_HASH = '0'.repeat(64)

/** The four hashed fields of a version. */
type VersionContent = {
  /** Lower-case hex SHA-256 of the previous version; `GENESIS_PREV_HASH` for the first. */
  readonly prevHash: string
  readonly value: string
  /** ISO 8601 time, as stored. */
  readonly writtenAt: string
  readonly authorId: string
}

/**
 * The text whose UTF-8 bytes are hashed: ECMAScript `JSON.stringify([prevHash, value, writtenAt, authorId])` (C8). As an
 * array of JSON strings it is unambiguous: no two contents share one preimage.
 */
export function versionPreimage(content: VersionContent): string {
  return JSON.stringify([content.prevHash, content.value, content.writtenAt, content.authorId])
}

/** Lower-case hex version hash (C8) of a version's content. */
export function versionHash(content: VersionContent): string {
  return preimageHash(versionPreimage(content))
}
