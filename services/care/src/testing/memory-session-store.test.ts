import { describeSessionStore } from '../domain/session-store.contract.ts'
import { createMemorySessionStore } from './memory-session-store.ts'

describeSessionStore('in memory', async () => {
  const store = createMemorySessionStore()
  return { store, reopen: async () => store, end: async () => {} }
})
