/**
 * Tells the running service which chains the command has erased (C31), so that nothing it holds in memory or keeps for
 * sessions still mentions them.
 */
import { keepLooking } from './keep-looking.ts'
import type { ErasedName, RecordStore } from './record-store.ts'

/** How long an erasure takes to reach what the service holds, milliseconds, at most. */
const ERASURES_READ_MS = 1_000

const nameOf = ({ patient, domain }: ErasedName): string => `${patient}|${domain}`

/** Reports erasures, and keeps looking for more. Rejects if they cannot be read or reported at the start. */
export function watchErasures(deps: {
  readonly store: Pick<RecordStore, 'erased'>
  readonly clock: { after(ms: number, run: () => void): () => void }
  /** Each chain once. */
  readonly onErased: (chains: readonly ErasedName[]) => Promise<void>
  /** It could not be read; it is tried again. */
  readonly onProblem: (error: unknown) => void
}): Promise<{ close(): void }> {
  const { store, clock, onErased, onProblem } = deps
  const told = new Set<string>()
  const look = async (isClosed: () => boolean): Promise<void> => {
    const fresh = (await store.erased()).filter((chain) => !told.has(nameOf(chain)))
    if (fresh.length === 0 || isClosed()) return
    await onErased(fresh)
    for (const chain of fresh) told.add(nameOf(chain))
  }
  return keepLooking({ clock, everyMs: ERASURES_READ_MS, look, onProblem })
}
