import { anyCharacter } from '@tallystick/service-kit/any-character'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { WRITTEN_PER_STEP } from '../tracker/steps.ts'
import { JsonText, messagePieces } from './message-pieces.ts'

const id = 'a "1"'
const written = (result: object): string => [...messagePieces(id, result)].join('')
const message = (result: object): string => JSON.stringify({ jsonrpc: '2.0', id, result })

test('a message in pieces is what JSON.stringify says', () => {
  const any = fc.jsonValue()
  fc.assert(
    fc.property(any, any, fc.string({ unit: anyCharacter }), (said, meta, text) => {
      const content = [{ type: 'text', text }]
      const result = { content, structuredContent: said, isError: true, _meta: meta }
      const inPieces = { ...result, structuredContent: new JsonText(JSON.stringify(said)) }
      expect(written(inPieces)).toBe(message(result))
      expect(written(result)).toBe(message(result))
    }),
  )
  expect(written({})).toBe(message({}))
})

test('a long answer is written in pieces of bounded length, and no character is cut in two', () => {
  // At an odd place, so that the border of each piece falls into a character.
  const text = `"${'🎾'.repeat(2 * WRITTEN_PER_STEP)}`
  const result = { content: [{ type: 'text', text }], structuredContent: text }
  const inPieces = { ...result, structuredContent: new JsonText(JSON.stringify(text)) }
  expect(written(inPieces)).toBe(message(result))
  const lengths = [...messagePieces(id, inPieces)].map(({ length }) => length)
  // A slice, in at most six characters for one.
  expect(Math.max(...lengths)).toBeLessThanOrEqual(6 * WRITTEN_PER_STEP)
})
