import { expect, test } from 'vitest'
import { PendingCall } from './pending-call.ts'
import { OpenBatch } from './usage-batch.ts'
import { UsageWindow } from './usage-window.ts'

const window = new UsageWindow(
  { agent: '0x1', windowExpiresAtSeconds: 10, windowStartsAtSeconds: 0, callsAllowed: 5 },
  1,
)
const pendingCall = (): PendingCall => new PendingCall({ window, unsealedUntilMs: 10_000 })

test('A10: a batch whose calls were all taken out opens anew with its next call', () => {
  const batch = new OpenBatch()
  const first = pendingCall()
  batch.add(first, 1_000)
  expect(batch.takeOut(first)).toBe(true)
  expect(batch.takeOut(first)).toBe(false)
  expect(batch).toMatchObject({ callCount: 0, entryCount: 0, openedAtMs: null })
  batch.add(pendingCall(), 5_000)
  expect(batch).toMatchObject({ callCount: 1, entryCount: 1, openedAtMs: 5_000 })
})
