import { expect, test } from 'vitest'
import { manualClock } from './manual-clock.ts'
import { createRetryingDelivery } from './retrying-delivery.ts'

const open = (attempt: (item: string, signal: AbortSignal) => Promise<string | undefined>) => {
  const clock = manualClock(0)
  const lost: string[] = []
  const delivery = createRetryingDelivery<string>({
    clock,
    retryAfterMs: [10, 20],
    waitingMax: 2,
    closeMs: 100,
    attempt,
    onLost: (item, reason) => lost.push(`${item}: ${reason}`),
  })
  return { clock, lost, delivery }
}

test('an item is tried again until it is taken or lost, and those behind it wait', async () => {
  const tried: string[] = []
  const { clock, delivery, lost } = open(async (item) => {
    tried.push(item)
    return item === 'bad' ? 'it said no' : undefined
  })
  delivery.send('bad')
  delivery.send('good')
  await clock.advanceMsSettled(9)
  expect(tried).toEqual(['bad'])
  await clock.advanceMsSettled(21)
  expect(tried).toEqual(['bad', 'bad', 'bad', 'good'])
  expect(lost).toEqual(['bad: it said no'])
})

test('a full queue loses the next item', async () => {
  const { delivery, lost } = open(() => new Promise(() => undefined))
  for (const item of ['1', '2', '3', '4']) delivery.send(item)
  expect(lost).toEqual(['4: too many are waiting'])
})

test('closing takes its time and no more: the rest is lost', async () => {
  let attempts = 0
  const { clock, delivery, lost } = open(
    (_, signal) =>
      new Promise((resolve) => {
        attempts += 1
        signal.addEventListener('abort', () => resolve('aborted'))
      }),
  )
  for (const item of ['1', '2']) delivery.send(item)
  const closing = delivery.close()
  delivery.send('late')
  await clock.advanceMsSettled(99)
  expect(lost).toEqual([])
  await clock.advanceMsSettled(1)
  await closing
  expect(lost).toEqual(['1: aborted', '2: the service ended'])
  expect(attempts).toBe(1)
  expect(clock.pendingCount()).toBe(0)
})
