import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Position } from '../../domain/position.ts'
import { createEventIds } from './event-ids.ts'

const ids = createEventIds(Buffer.alloc(32, 1))
const leaf = fc.nat({ max: 2 ** 40 - 1 })
const position = fc.record({ user: leaf, assistant: leaf, frames: fc.nat({ max: 65_535 }) })
const number = fc.nat({ max: 2 ** 32 - 1 })

const write = (session: number, at: Position): string => ids.write(session, at)

describe('C3: event ids', () => {
  it('hold a position of their session, and are nothing to another one; a batch has those of many', () => {
    const placed = fc.record({ session: number, at: fc.array(position, { maxLength: 3 }) })
    fc.assert(
      fc.property(fc.array(placed, { maxLength: 9 }), number, (all, other) => {
        const batch = ids.begin()
        const firsts = all.map(({ at, session }) =>
          batch.add(
            session,
            at.map((place) => ({ position: place })),
          ),
        )
        const text = batch.seal()
        for (const [index, { at, session }] of all.entries())
          for (const [more, place] of at.entries()) {
            const id = text((firsts[index] ?? 0) + more)
            expect(id).toMatch(/^[\w-]{22}$/)
            expect(id).toBe(ids.write(session, place))
            expect(ids.read(session, id)).toEqual(place)
            expect(ids.read(other, id)).toEqual(other === session ? place : undefined)
          }
      }),
    )
  })

  it('of more frames than a batch has room for at first are all sealed', () => {
    const batch = ids.begin()
    const positions = Array.from({ length: 5_000 }, (_, user) => ({
      user,
      assistant: 0,
      frames: 0,
    }))
    for (const at of positions) batch.add(9, [{ position: at }])
    const text = batch.seal()
    expect(positions.map((_, index) => ids.read(9, text(index)))).toEqual(positions)
  })

  it('in any other form are invalid, in another spelling of the same bytes too', () => {
    fc.assert(
      fc.property(fc.string(), number, (text, session) => {
        expect(ids.read(session, text)).toBeUndefined()
      }),
    )
    const id = write(1, { user: 1, assistant: 1, frames: 0 })
    // The last letter says two bits: sixteen letters spell the same bytes.
    const read = Array.from('ABCDEFGHIJKLMNOP').filter((last) =>
      ids.read(1, `${id.slice(0, -1)}${last}`),
    )
    expect(read).toEqual(id.endsWith('A') ? ['A'] : [])
    for (const text of [`${id}=`, `${id}==`, ` ${id}`, id.toLowerCase()])
      expect(ids.read(1, text)).toBeUndefined()
  })

  it('are nothing under another key', () => {
    const others = createEventIds(Buffer.alloc(32, 2))
    expect(others.read(1, write(1, { user: 0, assistant: 0, frames: 0 }))).toBeUndefined()
  })
})

describe('C30: event ids', () => {
  it('are equal for equal positions, different for every session, and show no order and no size', () => {
    const near = Array.from({ length: 1_000 }, (_, user) =>
      write(7, { user, assistant: 0, frames: 0 }),
    )
    expect(new Set(near).size).toBe(near.length)
    expect(write(7, { user: 3, assistant: 0, frames: 0 })).toBe(near[3])
    expect(write(8, { user: 3, assistant: 0, frames: 0 })).not.toBe(near[3])
    // Neighbours begin alike no more often than strangers do, one time in 64.
    const alike = near.slice(1).filter((id, at) => id[0] === near[at]?.[0])
    expect(alike.length).toBeLessThan(near.length / 16)
  })
})
