import { describe, expect, test } from 'vitest'
import { settlementFlights } from './settlement-flights.ts'

describe('settlementFlights', () => {
  const one = { id: 'a', fingerprint: '1' }

  test('the same payment shares a flight, another one under its id is a conflict, and too many are too many', async () => {
    const flights = settlementFlights<number>(1)
    let runs = 0
    const landing = Promise.withResolvers<number>()
    const settle = () => {
      runs += 1
      return landing.promise
    }
    const first = flights.join({ payment: one, settle })
    const second = flights.join({ payment: one, settle })
    expect(second).toBe(first)
    expect(flights.join({ payment: { id: 'a', fingerprint: '2' }, settle })).toBe('conflict')
    expect(flights.join({ payment: { id: 'b', fingerprint: '1' }, settle })).toBe('full')
    landing.resolve(7)
    expect(await first).toBe(7)
    expect(runs).toBe(1)
    expect(flights.count).toBe(0)
  })

  test('a flight that throws leaves no trace', async () => {
    const flights = settlementFlights<number>()
    const landing = Promise.withResolvers<number>()
    const answer = flights.join({ payment: one, settle: () => landing.promise })
    landing.reject(new Error('down'))
    await expect(answer).rejects.toThrow('down')
    expect(flights.count).toBe(0)
  })

  test('a doubt belongs to the very bytes that were submitted', () => {
    const flights = settlementFlights<number>()
    flights.doubt(one, Uint8Array.of(5))
    expect(flights.doubted(one)).toEqual(Uint8Array.of(5))
    expect(flights.doubted({ id: 'a', fingerprint: '2' })).toBeUndefined()
    flights.resolve(one)
    expect(flights.doubted(one)).toBeUndefined()
  })
})
