// Whether anything but this process changed a database (C32): another connection's commit, which SQLite counts, or another
// program's bytes, which show in the files' sizes and times. A look right before and right after each of this process's commits
// sets those apart. A change between a commit and the look after it counts as the commit's.
import { type BigIntStats, statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { askOn } from '@tallystick/journal-store'

const IN_MEMORY = ':memory:'

/** A file's size and times; times of change cannot be set back, times of writing can. */
function outlineOf(path: string): string {
  const found: BigIntStats | undefined = statSync(path, { bigint: true, throwIfNoEntry: false })
  if (found === undefined) return '-'
  const { ctimeNs, ino, mtimeNs, size } = found
  return `${ino} ${size} ${mtimeNs} ${ctimeNs}`
}

/** Watches the database of an open connection. */
export function watchSqliteFile(database: DatabaseSync, path: string) {
  const ask = askOn(database)
  const paths = path === IN_MEMORY ? [] : [path, `${path}-wal`]
  const outline = (): string => [ask('PRAGMA data_version')[0], ...paths.map(outlineOf)].join()
  let changes = 0
  let isCommitting = false
  let own = outline()
  const look = (): void => {
    const now = outline()
    if (now === own) return
    own = now
    changes += 1
  }
  return {
    /** A different text once anything else changed the database. */
    mark: (): string => {
      look()
      return String(changes)
    },
    /** Call before a commit, so that others' earlier changes do not count as this process's. */
    beforeOwnCommit: (): void => {
      look()
      isCommitting = true
    },
    /** Each writer of a group calls it; the first one's look is enough. */
    afterOwnCommit: (): void => {
      if (!isCommitting) return
      isCommitting = false
      try {
        own = outline()
      } catch {
        // The write is durable and its answer waits for nothing (S12); the next look finds a change.
      }
    },
  }
}
