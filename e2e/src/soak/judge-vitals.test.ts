import { expect, test } from 'vitest'
import { leaksIn } from './judge-vitals.ts'
import type { Vitals } from './service-vitals.ts'

const MIB = 1024 * 1024
const vitals = (heapMib: number, more: Partial<Vitals> = {}): Vitals => ({
  heapBytes: heapMib * MIB,
  residentBytes: 100 * MIB,
  openFiles: 30,
  resources: 10,
  ...more,
})
const flat = Array.from({ length: 40 }, (_, at) => vitals(50 + (at % 5) * 10))

test('a heap that grows and shrinks back is flat', () => {
  expect(leaksIn({ before: vitals(40), during: flat, after: vitals(45) })).toEqual([])
})

test('a heap that grows all the time is a leak', () => {
  const growing = flat.map(({ heapBytes }, at) => vitals(heapBytes / MIB + at * 2))
  expect(leaksIn({ before: vitals(40), during: growing, after: vitals(45) })).toEqual([
    'heap grew from 70 to 110 MiB',
  ])
})

test('files and handles left open are leaks', () => {
  const after = vitals(45, { openFiles: 60, resources: 30 })
  expect(leaksIn({ before: vitals(40), during: flat, after })).toEqual([
    '30 files were open before, 60 after',
    '10 handles before, 30 after',
  ])
})

test('too few samples prove nothing', () => {
  expect(leaksIn({ before: vitals(40), during: flat.slice(0, 4), after: vitals(45) })).toEqual([
    '4 samples are too few to judge',
  ])
})
