import { expect, test } from 'vitest'
import { boundedLabel } from './bounded-label.ts'

test('S4: a label tells 64 texts apart; later ones are `other`, and earlier ones stay themselves', () => {
  const label = boundedLabel()
  const texts = Array.from({ length: 80 }, (_, index) => `reason_${index}`)
  expect(new Set(texts.map(label))).toEqual(new Set([...texts.slice(0, 64), 'other']))
  expect([label('reason_0'), label('reason_79')]).toEqual(['reason_0', 'other'])
})
