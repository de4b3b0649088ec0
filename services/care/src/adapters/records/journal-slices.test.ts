import { expect, test } from 'vitest'
import { createRests } from './journal-slices.ts'

test('C32: a replay rests for nine times its slice while its journal is written to, and takes turns again afterwards', async () => {
  let [nowMs, size] = [0, 7]
  const awaited: (number | 'turn')[] = []
  const begin = createRests(() => size, {
    nowMs: () => nowMs,
    pause: async (ms) => {
      awaited.push(ms)
      nowMs += ms
    },
    nextTurn: async () => void awaited.push('turn'),
  })
  const rest = begin()
  const slice = async (ms: number) => {
    nowMs += ms
    await rest()
  }
  await slice(3)
  size += 1
  await slice(3)
  await slice(4)
  nowMs += 500
  await slice(5)
  expect(awaited).toEqual(['turn', 27, 36, 'turn'])
})
