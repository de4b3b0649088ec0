import type { PostgresDoor } from '@tallystick/journal-store/postgres'
import { expect, test, vi } from 'vitest'
import { openPostgresSessionPeers } from './postgres-session-peers.ts'

test('C25: behind a commit a process looks at once only while somebody listens there: its next look and its requests see the rest', () => {
  const commits = new Set<() => void>()
  // No time passes, and nothing is asked of a database.
  const door = { pause: () => new Promise(() => undefined) } as unknown as PostgresDoor
  const peers = openPostgresSessionPeers(door, {
    process: { id: () => 'one', beat: async () => undefined },
    clock: { unixMs: () => 0 },
    store: {
      onGrown: (listener) => {
        commits.add(listener)
        return () => void commits.delete(listener)
      },
    },
    onProblem: () => undefined,
  })
  const wake = vi.fn<() => void>()
  let isListening = false
  const stop = peers.watch(wake, () => isListening)
  for (const commit of commits) commit()
  expect(wake).not.toHaveBeenCalled()
  isListening = true
  for (const commit of commits) commit()
  expect(wake).toHaveBeenCalledOnce()
  stop()
  expect(commits.size).toBe(0)
})
