import { expect, test } from 'vitest'
import { mirrorMargins } from './mirror-margins.ts'

test('margin m becomes -m', () => {
  const margins = { lowest: -1, masses: [0.1, 0.2, 0.3, 0.4] }
  expect(mirrorMargins(margins)).toEqual({ lowest: -2, masses: [0.4, 0.3, 0.2, 0.1] })
  expect(mirrorMargins(mirrorMargins(margins))).toEqual(margins)
})
