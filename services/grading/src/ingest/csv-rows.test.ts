import { describe, expect, test } from 'vitest'
import { readRecords } from '../tracker/tracker-records.ts'
import { csvTable, isBrokenOff } from './csv-rows.ts'
import { readPayload } from './ingest-payload.ts'

/** A name, an empty line, cells of several lines, and a row behind each. */
const LINES = [
  'name,note',
  '',
  'first,"one',
  'two',
  '',
  'three"',
  'second,x',
  '  ',
  'third,"a',
  'b"',
  'fourth,y',
]
const EXPECTED = [
  ['first', 3],
  ['second', 7],
  ['third', 9],
  ['fourth', 11],
]
const ENDS = { LF: '\n', CRLF: '\r\n', CR: '\r' }

describe('G8: a row is known by the line that an editor shows, its first', () => {
  test.for(Object.entries(ENDS))('%s', ([, end]) => {
    for (const mark of ['', '\uFEFF']) {
      const text = mark + LINES.join(end)
      const rows = [...csvTable(Buffer.from(text))].flatMap((slice) => slice.rows)
      const named = rows.filter(([, row]) => row !== undefined && row.length > 1)
      expect(named.map(([line, row]) => [row?.[0]?.trim(), line])).toEqual(EXPECTED)
      const records = readRecords(text, ',')
      if (typeof records === 'string') throw new Error(records)
      expect(records.slice(1).map(({ line, record }) => [record[0], line])).toEqual(EXPECTED)
    }
  })

  test('in every slice of a long file, and where quotes cannot be read', () => {
    const many = `${LINES.join('\n')}\n`.repeat(4_000)
    const rows = [...csvTable(Buffer.from(many))].flatMap((slice) => slice.rows)
    expect(rows.filter(([, row]) => row?.[0] === 'fourth').map(([line]) => line)).toEqual(
      Array.from({ length: 4_000 }, (_, times) => 11 * (times + 1)),
    )
    const broken = [...csvTable(Buffer.from('name\n\na\n\n"b" c"\nd'))].flatMap(
      (slice) => slice.rows,
    )
    expect(broken.at(-1)).toEqual([6, ['d']])
  })
})

test.each([
  ['a,b,c\n1,2,3\n4,5', true],
  ['a,b,c\n1,2,3\n4,5,6', false],
  ['a,b,c\n1,2,3\n4,5\n', false],
  ['a,b,c\r\n1,2', true],
  ['a,b,c', false],
  ['a,b\n1,"two\nlines"', false],
  ['a,b\n1,2,,,\n3,4', false],
  ['a,b,c\n1,2,3\n,', false],
  ['a,b,c\n1,2,3\n\u001a', false],
  ['a,b\n1,2,,,\n3,4', false],
  ['a,b,c\n1,2,3\n,,', false],
  ['a,b,c\n1,2,3\n\u001a', false],
])('%j ends within a row: %j', (text, isBroken) => {
  expect(isBrokenOff(Buffer.from(text))).toBe(isBroken)
})

test.each([
  ['', { closes: ['2.05', '3.5', undefined], refused: 1 }],
  ['\n', { closes: ['2.05', '3.5', '3.7'], refused: 0 }],
])('G8: a table’s last number before %j is taken only if it is whole', (lineEnd, expected) => {
  const table = `Date,HomeTeam,AwayTeam,FTHG,FTAG,PSCH,PSCD,PSCA\n16/08/2025,Ars,Lee,2,1,2.05,3.5,3.7${lineEnd}`
  const read = readPayload(Buffer.from(table), { receivedAtSeconds: 0, stage: 'final' })
  const slices = read.kind === 'payload' ? [...read.read()] : []
  const [close] = slices.flatMap(({ observations }) => observations[0]?.closes ?? [])
  expect({
    closes: ['home', 'draw', 'away'].map((selection) => close?.odds[selection]),
    refused: slices.flatMap(({ refusals }) => refusals).length,
  }).toEqual(expected)
})
