import { expect, it } from 'vitest'
import { parseCheckpoint } from './page-api.ts'

it('a checkpoint has size, root and signer; other text is not one', () => {
  const note = 'grading.test/ledger\n12\ncm9vdA==\n\n— grading.test/ledger c2ln\n'
  expect(parseCheckpoint(note)).toEqual({
    size: 12,
    root: 'cm9vdA==',
    signer: 'grading.test/ledger',
  })
  expect(parseCheckpoint('{"error":"not_found"}')).toBeUndefined()
})
