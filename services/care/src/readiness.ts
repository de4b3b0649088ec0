import type { ReadinessCheck } from '@tallystick/service-kit'
import type { RecordStore } from './domain/record-store.ts'

/** What the service cannot work without, by name: the store reads. A full disk shows at the next write, as 503. */
export function careReadiness(deps: {
  readonly store: Pick<RecordStore, 'heads' | 'sealing'>
}): Readonly<Record<string, ReadinessCheck>> {
  return {
    async store() {
      await deps.store.heads({ audiences: ['user'], limit: 1 })
      return { kind: 'ready', details: { sealed: deps.store.sealing().isSealed } }
    },
  }
}
