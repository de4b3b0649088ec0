import { expect, test } from 'vitest'
import { createLateWrites } from './reservations.ts'

test('a write that becomes owed while an older one is under way is not forgotten with it', async () => {
  const late = createLateWrites()
  const written: string[] = []
  const older = Promise.withResolvers<void>()
  late.owe('payment-1', async () => {
    await older.promise
    written.push('older')
  })
  const writing = late.write('payment-1')
  late.forget('payment-1')
  late.owe('payment-1', async () => {
    written.push('newer')
  })
  older.resolve()
  expect(await writing).toBe(true)
  expect(await late.write('payment-1')).toBe(true)
  expect(await late.write('payment-1')).toBe(false)
  expect(written).toEqual(['older', 'newer'])
})
