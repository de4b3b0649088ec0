import type { Audience } from '../wire/records.ts'

/** The files of one store, all beside its database. */
export type StorePaths = {
  /** Records, journals and remembered requests. */
  readonly records: string
  /** Held by the one process that may append. */
  readonly lock: string
  /** Sessions, frames and audit rows. */
  readonly sessions: string
  /** The last signed checkpoint of a journal. */
  checkpoint(audience: Audience): string
  /** The generated signing key, where none is configured. */
  readonly checkpointKey: string
}

/** Where a store keeps what, given the path of its database (`DATABASE_PATH`). */
export function storePaths(databasePath: string): StorePaths {
  return {
    records: databasePath,
    lock: `${databasePath}.lock`,
    sessions: `${databasePath}.sessions`,
    checkpoint: (audience) => `${databasePath}.${audience}-checkpoint`,
    checkpointKey: `${databasePath}.checkpoint-key`,
  }
}
