// What the tests of opening and backing up a store share: a folder for each test, and quick ways to fill a store
// and to check it.
import { afterEach, beforeEach } from 'vitest'
import { collect } from '../../domain/record-store.fixture.ts'
import type { RecordStore } from '../../domain/record-store.ts'
import { verifyExport } from '../../domain/verify-export.ts'
import { AUDIENCES } from '../../wire/audience.ts'
import { makeStoreFolder, type StoreFolder } from './sqlite-store.fixture.ts'
import { storeRecord } from './sqlite-store-samples.fixture.ts'

type StoreFixture = {
  /** The folder of the running test. */
  readonly folder: StoreFolder
  /** Opens the store, writes values to one chain, and closes it. */
  readonly fill: (...values: readonly string[]) => Promise<void>
}

export async function writeValues(store: RecordStore, ...values: readonly string[]): Promise<void> {
  for (const value of values) await store.append(storeRecord({ value }))
}

/** Whether every chain holds, in place and as an export. */
export async function isIntact(
  store: Pick<RecordStore, 'verify' | 'exportLines'>,
): Promise<boolean> {
  const verdicts = await collect(store.verify({ audiences: AUDIENCES }))
  const report = await verifyExport(store.exportLines({ audiences: AUDIENCES }))
  return report.isIntact && verdicts.every(({ intact }) => intact)
}

/** Registers the hooks of a file: each test has an empty folder of its own. */
export function useStoreFolder(): StoreFixture {
  let folder: StoreFolder
  beforeEach(() => {
    folder = makeStoreFolder()
  })
  afterEach(() => {
    folder.remove()
  })
  return {
    get folder() {
      return folder
    },
    fill: async (...values) => {
      const store = await folder.open()
      await writeValues(store, ...values)
      await store.close()
    },
  }
}
