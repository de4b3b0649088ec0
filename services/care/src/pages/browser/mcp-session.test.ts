import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventStreamReader } from './mcp-session.ts'

function readPieces(pieces: readonly string[]): readonly string[] {
  const seen: string[] = []
  const read = eventStreamReader({
    onData: (data) => seen.push(`data ${data}`),
    onId: (id) => seen.push(`id ${id}`),
  })
  for (const piece of pieces) read(piece)
  return seen
}

describe('C3: the event stream', () => {
  it('a priming event gives an id and no data', () => {
    expect(readPieces(['id: 1-0\nretry: 500\ndata: \n\n'])).toEqual(['id 1-0'])
  })

  it('an event’s id counts once its data has been received', () => {
    expect(readPieces(['event: message\nid: 1-7\ndata: {"a":1}\n\n'])).toEqual([
      'data {"a":1}',
      'id 1-7',
    ])
  })

  it('an event cut off before its blank line never happened', () => {
    expect(readPieces(['id: 1-7\ndata: x\n'])).toEqual([])
  })

  it('keep-alive comments and unknown fields are ignored', () => {
    expect(readPieces([': keepalive\n\nfoo: bar\ndata:y\n\n'])).toEqual(['data y'])
  })

  it('several data lines are one text; only one space is removed', () => {
    expect(readPieces(['data:  a\ndata:b\n\n'])).toEqual(['data  a\nb'])
  })

  it('an id with a NUL is ignored', () => {
    expect(readPieces(['id: a\0b\ndata: z\n\n'])).toEqual(['data z'])
  })

  it('reads the same however the text is split, with LF, CR or CRLF', () => {
    const text =
      ': hi\nid: 3-1\nevent: message\ndata: {"k":"v:w"}\ndata: more\n\nretry: 9\n\ndata: x\n\n'
    const whole = readPieces([text])
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: text.length * 2 })),
        fc.constantFrom('\n', '\r', '\r\n'),
        (cuts, lineEnd) => {
          const ended = text.replaceAll('\n', lineEnd)
          const at = [0, ...cuts.filter((cut) => cut < ended.length).toSorted((a, b) => a - b)]
          const pieces = at.map((from, index) => ended.slice(from, at[index + 1]))
          // A final CR may be half of a CRLF: the next piece decides.
          expect(readPieces([...pieces, lineEnd])).toEqual(whole)
        },
      ),
    )
  })
})
