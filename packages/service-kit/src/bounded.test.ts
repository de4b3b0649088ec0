import { describe, expect, test } from 'vitest'
import { BoundedMap, boundedLabel, clientNetwork, getOrMake, readLimited } from './bounded.ts'

test('what is under a key is made once, in any kind of map', () => {
  const maps = [new BoundedMap<object, number>(1), new WeakMap<object, number>()]
  const key = {}
  for (const map of maps)
    expect([getOrMake(map, key, () => 1), getOrMake(map, key, () => 2)]).toEqual([1, 1])
})

describe('BoundedMap', () => {
  test('drops the entry set longest ago; setting an entry renews it, reading does not', () => {
    const map = new BoundedMap<string, number>(3)
    map.set('a', 1).set('b', 2).set('c', 3).set('a', 4)
    expect(map.get('b')).toBe(2)
    map.set('d', 5)
    expect([map.size, map.has('b'), map.get('a'), map.get('c'), map.get('d')]).toEqual([
      3,
      false,
      4,
      3,
      5,
    ])
    map.set('e', 6)
    expect([map.has('c'), map.has('a')]).toEqual([false, true])
  })

  test('deleting an entry makes room', () => {
    const map = new BoundedMap<string, number>(2)
    map.set('a', 1).set('b', 2)
    expect([map.delete('a'), map.delete('a')]).toEqual([true, false])
    map.set('c', 3)
    expect([map.size, map.has('b'), map.has('c')]).toEqual([2, true, true])
  })

  test('an undefined key or value is an entry like any other', () => {
    const map = new BoundedMap<string | undefined, undefined>(1)
    map.set(undefined, undefined)
    expect([map.size, map.has(undefined)]).toEqual([1, true])
    map.set('a', undefined)
    expect([map.size, map.has(undefined), map.has('a')]).toEqual([1, false, true])
  })

  test('a bound of 0 keeps nothing; a bound that is not a whole number is refused', () => {
    expect(new BoundedMap<string, number>(0).set('a', 1).size).toBe(0)
    for (const max of [-1, 1.5, Number.NaN])
      expect(() => new BoundedMap<string, number>(max)).toThrow(RangeError)
  })
})

test('S4: a label keeps 64 values apart; later ones become `other`, earlier ones stay as they are', () => {
  const label = boundedLabel()
  const texts = Array.from({ length: 80 }, (_, index) => `reason_${index}`)
  expect(new Set(texts.map(label))).toEqual(new Set([...texts.slice(0, 64), 'other']))
  expect([label('reason_0'), label('reason_79')]).toEqual(['reason_0', 'other'])
})

describe('readLimited', () => {
  let chunksTaken = 0
  async function* chunks(sizes: readonly number[]) {
    for (const size of sizes) {
      chunksTaken += 1
      yield new Uint8Array(size).fill(7)
    }
  }

  test('reads a body up to the limit, in one piece', async () => {
    expect(await readLimited(chunks([2, 0, 3]), 5)).toEqual(Buffer.alloc(5, 7))
    expect(await readLimited(chunks([]), 0)).toEqual(Buffer.alloc(0))
    expect(await readLimited(new Response('ab').body, 2)).toEqual(Buffer.from('ab'))
  })

  test('reads an absent body as zero bytes', async () => {
    expect(await readLimited(new Response(null).body, 0)).toEqual(Buffer.alloc(0))
  })

  test('stops reading at the chunk that exceeds the limit', async () => {
    chunksTaken = 0
    expect(await readLimited(chunks([4, 2, 1, 1]), 5)).toBe('too_large')
    expect(chunksTaken).toBe(2)
  })

  test('rejects if the body fails', async () => {
    const body = new ReadableStream<Uint8Array>({ start: (sink) => sink.error(new Error('cut')) })
    await expect(readLimited(body, 5)).rejects.toThrow('cut')
  })
})

test.each([
  ['203.0.113.7', '203.0.113.7 ::ffff:203.0.113.7 ::FFFF:203.0.113.7 ::ffff:cb00:7107'],
  ['203.0.113.7', '0:0:0:0:0:ffff:203.0.113.7 203.0.113.7:51234'],
  [
    '2001:db8:1:2',
    '2001:db8:1:2:3:4:5:6 2001:db8:1:2::9 2001:0DB8:0001:2::9 [2001:db8:1:2::]:51234',
  ],
  ['2001:db8:0:0', '2001:db8::9 2001:0DB8::'],
  ['1:0:0:2', '1::2:3:4:5:6 1:0:0:2:3:4:5:6'],
  ['0:0:0:0', '::1 :: ::7:8%eth0'],
  ['unknown', 'unknown'],
])('A17: %j is the network of %s', (network, spellings) => {
  for (const address of spellings.split(' ')) expect(clientNetwork(address)).toBe(network)
})
