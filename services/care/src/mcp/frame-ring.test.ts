import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatEventId, parseEventId } from './event-streams.ts'
import { type Frame, FrameRing } from './replay-buffer.ts'

const frame = (number: number): Frame => ({
  number,
  text: '',
  bytes: 0,
  about: '',
  names: [],
  isUpdate: false,
  holders: 0,
})

describe('a ring of frames', () => {
  it('holds the newest, under sequences without gaps, like a truncated list', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.nat({ max: 1_000 }),
        fc.nat({ max: 50 }),
        (framesMax, pushes, start) => {
          const ring = new FrameRing(start)
          const all: Frame[] = []
          for (let count = 0; count < pushes; count += 1) {
            const one = frame(count)
            const dropped = ring.push(one, framesMax)
            expect(dropped).toBe(all.length < framesMax ? undefined : all.at(-framesMax))
            all.push(one)
          }
          expect(ring.lastSequence).toBe(start + pushes)
          expect(ring.size).toBe(Math.min(pushes, framesMax))
          expect(ring.floorSequence).toBe(ring.lastSequence - ring.size)
          for (let back = 0; back <= framesMax; back += 1) {
            const sequence = ring.lastSequence - back
            const isHeld = back < ring.size
            expect(ring.at(sequence)).toBe(isHeld ? all.at(-1 - back) : undefined)
          }
          expect(ring.at(ring.lastSequence + 1)).toBeUndefined()
          const { size } = ring
          expect(ring.clear()).toEqual(all.slice(all.length - size))
          expect(ring.size).toBe(0)
        },
      ),
    )
  })

  it('drops what lies before a gap', () => {
    const ring = new FrameRing(0)
    const [first, second] = [frame(1), frame(2)]
    ring.push(first, 8)
    expect(ring.expect(2)).toEqual([])
    expect(ring.expect(7)).toEqual([first])
    ring.push(second, 8)
    expect(ring.at(7)).toBe(second)
    expect(ring.floorSequence).toBe(6)
  })
})

describe('C3: event ids', () => {
  const session = { id: 'abcdefghijklmnopqrstuvwxyz' }

  it('belong to their session', () => {
    fc.assert(
      fc.property(fc.nat(), (sequence) => {
        const id = formatEventId(session, sequence)
        expect(parseEventId(session, id)).toBe(sequence)
        expect(parseEventId({ id: 'zbcdefghijklmnop' }, id)).toBeUndefined()
      }),
    )
  })

  it('in any other form are invalid', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const sequence = parseEventId(session, text)
        expect(sequence === undefined || formatEventId(session, sequence) === text).toBe(true)
      }),
    )
  })
})
