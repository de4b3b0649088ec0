import { describeRecordStore } from '../../domain/record-store.contract.ts'
import { makeStoreFolder, tamperEntry, testKeyRing } from './sqlite-store.fixture.ts'

for (const [name, keyRing] of [
  ['SQLite, in the clear', undefined],
  ['SQLite, sealed', testKeyRing('key-1')],
] as const)
  describeRecordStore(name, async (clock) => {
    const folder = makeStoreFolder(clock)
    const store = await folder.open(keyRing === undefined ? {} : { keyRing })
    return {
      store,
      tamper: async (slot, version, change) => {
        await tamperEntry({ folder, slot, version, change, keyRing })
      },
      end: async () => {
        await store.close()
        folder.remove()
      },
    }
  })
