// Whether anything but this process has changed a database (C32): another connection's commit, which SQLite counts, or another
// program's bytes, which show in the files' sizes and times. This process's own commits are told apart by looking right before
// and right after each. What changes the files between a commit and that look is taken for the commit's.
import { type BigIntStats, statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { prepareQuery } from '@tallystick/journal-store'

const IN_MEMORY = ':memory:'

/** What a file looks like from outside; times of change cannot be set back as those of writing can. */
function outlineOf(path: string): string {
  const found: BigIntStats | undefined = statSync(path, { bigint: true, throwIfNoEntry: false })
  if (found === undefined) return '-'
  const { ctimeNs, ino, mtimeNs, size } = found
  return `${ino} ${size} ${mtimeNs} ${ctimeNs}`
}

/** Watches the database of an open connection. */
export function watchSqliteFile(database: DatabaseSync, path: string) {
  const version = prepareQuery<readonly [number]>(database, 'PRAGMA data_version')
  const paths = path === IN_MEMORY ? [] : [path, `${path}-wal`]
  const outline = (): string => [version.get()?.[0], ...paths.map(outlineOf)].join()
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
    /** Another text once anything else has changed the database. */
    mark: (): string => {
      look()
      return String(changes)
    },
    /** What others changed before a commit of this process is not to be taken for its own. */
    beforeOwnCommit: (): void => {
      look()
      isCommitting = true
    },
    /** Each writer of a group calls it; the first one's look is enough. */
    afterOwnCommit: (): void => {
      if (isCommitting) own = outline()
      isCommitting = false
    },
  }
}
