import type { ReadinessCheck, ReadinessFinding } from '@tallystick/service-kit'
import type { GradingStore } from './domain/grading-store.ts'
import type { TokenCheck } from './token-check.ts'

export type ReadinessDeps = {
  readonly store: Pick<GradingStore, 'counts'>
  readonly token: Pick<TokenCheck, 'check'>
  /** Whether the facilitator answered when it was asked last. */
  readonly facilitator: () => Promise<boolean>
}

const notReady = (reason: string): ReadinessFinding => ({ kind: 'not-ready', reason })

/** What the service cannot grade or sell without, by name. */
export function gradingReadiness(deps: ReadinessDeps): Readonly<Record<string, ReadinessCheck>> {
  return {
    async ledger() {
      const { entries, events } = await deps.store.counts()
      return { kind: 'ready', details: { entries, events } }
    },
    async token() {
      const found = await deps.token.check()
      switch (found.kind) {
        case 'right':
          return { kind: 'ready' }
        case 'unreachable':
          return notReady('chain_unavailable')
        case 'wrong_chain':
        case 'wrong_domain':
          return notReady(found.kind)
        default:
          return found satisfies never
      }
    },
    async facilitator() {
      return (await deps.facilitator()) ? { kind: 'ready' } : notReady('facilitator_down')
    },
  }
}
