import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import merkle from '../vectors/merkle.json' with { type: 'json' }
import notes from '../vectors/note.json' with { type: 'json' }
import { formatCheckpoint, openCheckpoint, openNote, parseCheckpoint } from './checkpoint.ts'

const rootHash = Buffer.from(merkle.rootHashes[8] ?? '', 'hex')
const origin = 'care.example.org/user'
const line = fc.string({ minLength: 1 }).filter((text) => !/[\n\r]/.test(text))

describe('checkpoints', () => {
  test('golden vector: the eight entries of merkle.json, signed, opened and read', () => {
    const [, vector] = notes.notes
    if (vector === undefined) throw new Error('the vector is missing')
    expect(formatCheckpoint({ origin, size: 8, rootHash })).toBe(vector.text)
    const opened = openNote(vector)
    expect(opened).toEqual({ kind: 'opened', text: vector.text })
    const read = {
      kind: 'checkpoint',
      checkpoint: { origin, size: 8, rootHash, extensionLines: [] },
    }
    expect(parseCheckpoint(vector.text)).toEqual(read)
    expect(openCheckpoint(vector)).toEqual(read)
    expect(openCheckpoint({ ...vector, verifierKey: '' }).kind).toBe('refused')
  })

  test('round-trips', () => {
    const any = fc.record({
      origin: line,
      size: fc.maxSafeNat(),
      rootHash: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes)),
      extensionLines: fc.array(line, { maxLength: 3 }),
    })
    fc.assert(
      fc.property(any, (checkpoint) => {
        expect(parseCheckpoint(formatCheckpoint(checkpoint))).toEqual({
          kind: 'checkpoint',
          checkpoint,
        })
      }),
    )
  })

  test('every accepted text is exactly what would be written', () => {
    const text = formatCheckpoint({ origin, size: 8, rootHash })
    for (let index = 0; index < text.length; index += 1)
      for (const character of ['0', 'A', '=', ' ', '\n', '-', 'é']) {
        const altered = text.slice(0, index) + character + text.slice(index + 1)
        const parsed = parseCheckpoint(altered)
        const written = parsed.kind === 'checkpoint' ? formatCheckpoint(parsed.checkpoint) : altered
        expect(written).toBe(altered)
      }
  })

  const root = rootHash.toString('base64')
  test.each([
    ['lines', ''],
    ['lines', `${origin}\n8\n`],
    ['lines', `${origin}\n8\n${root}`],
    ['origin', `\n8\n${root}\n`],
    ['size', `${origin}\n08\n${root}\n`],
    ['size', `${origin}\n-1\n${root}\n`],
    ['size', `${origin}\n1e3\n${root}\n`],
    ['size', `${origin}\n9007199254740993\n${root}\n`],
    ['root', `${origin}\n8\n${root.slice(0, -1)}\n`],
    ['root', `${origin}\n8\n\n`],
    ['extension', `${origin}\n8\n${root}\n\n`],
  ] as const)('malformed %s: %j', (part, text) => {
    expect(parseCheckpoint(text)).toEqual({ kind: 'malformed', part })
  })

  test.each([
    { origin: '', size: 1, rootHash },
    { origin: 'a\nb', size: 1, rootHash },
    { origin, size: -1, rootHash },
    { origin, size: 1.5, rootHash },
    { origin, size: 1, rootHash: rootHash.subarray(1) },
    { origin, size: 1, rootHash, extensionLines: [''] },
  ])('what the format cannot hold is not written: %j', (checkpoint) => {
    expect(() => formatCheckpoint(checkpoint)).toThrow(RangeError)
  })
})
