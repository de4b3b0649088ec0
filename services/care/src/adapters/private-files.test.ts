// Files beside the database are for their owner alone, whatever the umask of whoever starts the service.
import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { manualClock } from '@tallystick/service-kit'
import { expect, it } from 'vitest'
import { openStores } from './open-stores.ts'
import { testKeyRing } from './records/sqlite-store.fixture.ts'
import { useStoreFolder } from './records/sqlite-store-hooks.fixture.ts'
import { storeRecord } from './records/sqlite-store-samples.fixture.ts'

const suite = useStoreFolder()

it('attack: another user of the machine reads the files beside the database: each is 0600 from its first byte', async () => {
  const { databasePath } = suite.folder
  const folder = dirname(databasePath)
  const open: string[] = []
  /** The mode of a file is that of its first byte: nothing here changes one. */
  const look = (): void => {
    for (const name of readdirSync(folder))
      if ((statSync(join(folder, name)).mode & 0o777) !== 0o600) open.push(name)
  }
  const umask = process.umask(0)
  try {
    const stores = await openStores(
      {
        DATABASE_PATH: databasePath,
        SEAL_KEYS: testKeyRing('key-1'),
        BASE_URL: 'https://care.test',
        SERVICE_NAME: 'care',
      },
      { clock: manualClock(0), onProblem: () => undefined },
    )
    await stores.records.append(storeRecord())
    look()
    expect(readdirSync(folder).length).toBeGreaterThan(6)
    await stores.close()
    look()
  } finally {
    process.umask(umask)
  }
  expect(open).toEqual([])
})
