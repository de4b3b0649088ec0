import { describe, expect, it } from 'vitest'
import { readCheckpoint } from './page-parts.ts'

describe('a signed checkpoint', () => {
  const note = 'care.test/user\n15\nCsUYapGGPo4=\n\n— care.test+c74f20a3 AZ3grPXi\n'

  it('gives size, root and signer', () => {
    expect(readCheckpoint(note)).toEqual({
      size: 15,
      root: 'CsUYapGGPo4=',
      signer: 'care.test+c74f20a3',
    })
  })

  it.each([
    '',
    'care.test/user\n15\nroot\n',
    note.replace('15', 'fifteen'),
    note.replace('\n\n', '\n'),
  ])('%j is none', (text) => {
    expect(readCheckpoint(text)).toBeUndefined()
  })
})
