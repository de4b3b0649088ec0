// The checker itself: it finds what is wrong in a broken history, and nothing in one that holds.
import { describe, expect, it } from 'vitest'
import { checkHistory, type History, type WriteSeen } from './check-history.ts'

const write = (value: string, startMs: number, outcome: WriteSeen['outcome']): WriteSeen => ({
  chain: 'c',
  value,
  startMs,
  outcome,
})
const acknowledged = (version: number, endMs: number): WriteSeen['outcome'] => ({
  kind: 'acknowledged',
  version,
  endMs,
})

const session = {
  name: 's',
  from: new Map([['c', 1]]),
  heard: [
    { chain: 'c', version: 2 },
    { chain: 'c', version: 3 },
  ],
}

/** Two writes in turn, one whose answer was lost, one that was refused; a reader, and a session that heard it all. */
const GOOD = {
  writes: [
    write('a', 0, acknowledged(1, 10)),
    write('b', 20, acknowledged(2, 30)),
    write('lost', 25, { kind: 'unknown' }),
    write('no', 40, { kind: 'refused', answer: '409 no' }),
  ],
  reads: [
    { chain: 'c', startMs: 5, endMs: 6, version: 1, value: 'a' },
    { chain: 'c', startMs: 31, endMs: 35, version: 2, value: 'b' },
  ],
  sessions: [session],
  stored: new Map([['c', ['a', 'b', 'lost']]]),
  faults: [{ what: 'a kill', atMs: 15 }],
} satisfies History

describe('the checker of histories', () => {
  it('finds nothing where every write is at its place and every session heard each version once', () => {
    expect(checkHistory(GOOD)).toEqual([])
    const unheard = { ...session, heard: [{ chain: 'c', version: 2 }] }
    const notStored = { ...GOOD, stored: new Map([['c', ['a', 'b']]]), sessions: [unheard] }
    expect(checkHistory(notStored)).toEqual([])
  })

  it.each<[string, Partial<History>, string]>([
    [
      'an acknowledged write that is lost',
      { stored: new Map([['c', ['a']]]), reads: [], sessions: [] },
      '“b” was acknowledged as version 2, which is not stored',
    ],
    [
      'a chain that is lost',
      { stored: new Map(), reads: [], sessions: [] },
      '“a” was acknowledged as version 1, which is not stored',
    ],
    [
      'a write that is stored twice',
      { stored: new Map([['c', ['a', 'b', 'b']]]) },
      '“b” is stored 2 times',
    ],
    [
      'a write of nobody',
      { stored: new Map([['c', ['a', 'b', 'x']]]) },
      '“x” was written by nobody',
    ],
    [
      'a refused write that is stored',
      { stored: new Map([['c', ['a', 'b', 'no']]]) },
      '“no” was refused with “409 no” and is stored',
    ],
    [
      'an order against time',
      {
        writes: [
          write('b', 0, acknowledged(2, 10)),
          write('a', 20, acknowledged(1, 30)),
          write('lost', 25, { kind: 'unknown' }),
        ],
        reads: [],
      },
      'version 2 ended before version 1 began',
    ],
    [
      'an order against time over a third',
      {
        stored: new Map([['c', ['a', 'lost', 'b']]]),
        writes: [
          write('a', 20, acknowledged(1, 30)),
          write('lost', 0, { kind: 'unknown' }),
          write('b', 0, acknowledged(3, 10)),
        ],
        reads: [],
      },
      'version 3 ended before version 1 began',
    ],
    [
      'a read of what is not stored',
      { reads: [{ chain: 'c', startMs: 31, endMs: 32, version: 2, value: 'x' }] },
      'a read saw “x” as version 2, which is not stored',
    ],
    [
      'a read that goes back',
      { reads: [{ chain: 'c', startMs: 31, endMs: 32, version: 1, value: 'a' }] },
      'a read saw version 1 after version 2 was there',
    ],
    [
      'reads that go back, of a write without an answer',
      {
        reads: [
          { chain: 'c', startMs: 40, endMs: 41, version: 3, value: 'lost' },
          { chain: 'c', startMs: 42, endMs: 43, version: 2, value: 'b' },
        ],
      },
      'a read saw version 2 after version 3 was there',
    ],
    [
      'a read before the write',
      { reads: [{ chain: 'c', startMs: 11, endMs: 12, version: 2, value: 'b' }] },
      'a read saw version 2 before it was written',
    ],
    [
      'a version that was heard twice',
      { sessions: [{ ...session, heard: [2, 2, 3].map((version) => ({ chain: 'c', version })) }] },
      's heard version 2 of c again, or late',
    ],
    [
      'versions that were heard out of order',
      { sessions: [{ ...session, heard: [3, 2].map((version) => ({ chain: 'c', version })) }] },
      's heard version 2 of c again, or late',
    ],
    [
      'a version that was missed between others',
      { sessions: [{ ...session, heard: [{ chain: 'c', version: 3 }] }] },
      's missed versions 2 to 2 of c',
    ],
    [
      'versions that were missed at the end',
      { sessions: [{ ...session, heard: [] }] },
      's missed versions 2 to 3 of c',
    ],
    [
      'writes that go on late',
      {
        faults: [{ what: 'a kill', atMs: 15 - 5_000 }],
        writes: GOOD.writes.slice(1),
        stored: new Map(),
      },
      'a kill: no write was acknowledged for 5015 ms',
    ],
    [
      'writes that do not go on',
      { faults: [{ what: 'a kill', atMs: 21 }] },
      'a kill: no write was acknowledged for Infinity ms',
    ],
  ])('finds %s', (_, broken, sentence) => {
    expect(checkHistory({ ...GOOD, ...broken }).join('\n')).toContain(sentence)
  })
})
