import { describeRecordStore } from '../domain/record-store.contract.ts'
import { createMemoryRecordStore } from './memory-record-store.ts'

describeRecordStore('memory', async (clock) => {
  const store = createMemoryRecordStore({ clock })
  return {
    store,
    tamper: (slot, version, change) => {
      store.tamper(slot, version, change)
    },
    end: () => store.close(),
  }
})
