import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock } from '@tallystick/service-kit'
import {
  openSqliteGradingStore,
  type SqliteGradingStoreOptions,
} from '../adapters/sqlite-grading-store.ts'
import type { GradingStore } from '../domain/closes/grading-store.ts'
import { sampleBatch, sampleEvent, sampleObservation, scored } from './samples.fixture.ts'

export type LedgerFolder = ReturnType<typeof makeLedgerFolder>

/** Appends one entry: a result of the event with that name. */
export const addEntry = (store: GradingStore, name: string) =>
  store.ingest(
    sampleBatch([
      sampleObservation({
        event: sampleEvent({ path: `soccer/${name}` }),
        outcomes: scored(1, 0),
      }),
    ]),
  )

/** A ledger in its own folder, which a test may reopen at will. */
export function makeLedgerFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'grading-ledger-'))
  const path = join(folder, 'grading.db')
  const identity = {
    databasePath: path,
    checkpointSeed: new Uint8Array(32).fill(3),
    origin: 'grading.test/ledger',
  }
  // The clock stands still: no read picks up another process's write by itself.
  const clock = manualClock(1_780_000_000_000)
  const open = (by: Partial<SqliteGradingStoreOptions> = {}): Promise<GradingStore> =>
    openSqliteGradingStore({ ...identity, clock, ...by })
  /** Opens the ledger, uses it and closes it. */
  const using = async <Result>(
    use: (store: GradingStore) => Promise<Result>,
    by: Partial<SqliteGradingStoreOptions> = {},
  ): Promise<Result> => {
    const store = await openSqliteGradingStore({ ...identity, clock, ...by })
    try {
      return await use(store)
    } finally {
      await store.close()
    }
  }
  return {
    path,
    identity,
    checkpointPath: `${path}.checkpoint`,
    open,
    using,
    /** The number of entries that the checkpoint in the file signs. */
    sizeInFile: () => Number(readFileSync(`${path}.checkpoint`, 'utf8').split('\n')[1]),
    /** Leaves a ledger of one entry with a checkpoint of three: an older copy has replaced it. */
    async loseTail(): Promise<void> {
      await using((store) => addEntry(store, 'one'))
      copyFileSync(path, `${path}.older`)
      await using((store) => addEntry(store, 'two'))
      await using((store) => addEntry(store, 'three'))
      copyFileSync(`${path}.older`, path)
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
