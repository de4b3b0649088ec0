import { expect, test } from 'vitest'
import { withCauses } from './with-causes.ts'

test('S13: a start that fails says why, and nothing twice', () => {
  const full = new Error('ENOSPC: no space left on device,\n write')
  const error = new Error('the key cannot be made', { cause: full })
  const line = 'the key cannot be made: ENOSPC: no space left on device, write'
  expect(withCauses(error.message, error)).toBe(line)
  const outer = new Error(`it cannot start: ${full.message}`, { cause: full })
  expect(withCauses(outer.message, outer)).toBe(
    line.replace('the key cannot be made', 'it cannot start'),
  )
  full.cause = error
  expect(withCauses(error.message, error)).toBe(line)
})
