import { randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Position } from '../../domain/position.ts'
import { createEventIds } from './event-ids.ts'

const ids = createEventIds(randomBytes(32))
const leaf = fc.nat({ max: 2 ** 40 - 1 })
const position = fc.record({ user: leaf, assistant: leaf, frames: fc.nat({ max: 65_535 }) })
const number = fc.nat({ max: 2 ** 32 - 1 })

const write = (session: number, at: Position): string =>
  ids.write(session, [{ position: at }]).join()

describe('C3: event ids', () => {
  it('hold a position of their session, and are nothing to another one', () => {
    fc.assert(
      fc.property(number, number, fc.array(position, { maxLength: 3 }), (session, other, all) => {
        const written = ids.write(
          session,
          all.map((place) => ({ position: place })),
        )
        expect(written).toHaveLength(all.length)
        for (const [index, id] of written.entries()) {
          expect(id).toMatch(/^[\w-]{22}$/)
          expect(ids.read(session, id)).toEqual(all[index])
          expect(ids.read(other, id)).toEqual(other === session ? all[index] : undefined)
        }
      }),
    )
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
    const others = createEventIds(randomBytes(32))
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
