import { expect, test } from 'vitest'
import { holdChannels } from './consensus-client.ts'

/** Clients by name, with their addresses, and the names of those closed, in order. */
function clients<Name extends string>(addresses: Record<Name, readonly string[]>) {
  const closed: string[] = []
  const letGo = Object.entries<readonly string[]>(addresses).map(
    ([name, own]) => [name, holdChannels(own, () => closed.push(name))] as const,
  )
  return { closed, letGo: Object.fromEntries(letGo) as Record<Name, () => void> }
}

test('a client that shares its nodes with no other is closed at once', () => {
  const { closed, letGo } = clients({ a: ['x:1'], b: ['y:1'] })
  letGo.a()
  expect(closed).toEqual(['a'])
  letGo.b()
  expect(closed).toEqual(['a', 'b'])
})

test.each([
  ['a', 'b'],
  ['b', 'a'],
] as const)(
  'of two that share a node, released as %s and %s, none is closed before and both after',
  (first, second) => {
    const { closed, letGo } = clients({ a: ['x:1'], b: ['x:1', 'y:1'] })
    letGo[first]()
    expect(closed).toEqual([])
    letGo[second]()
    expect(closed.toSorted()).toEqual(['a', 'b'])
  },
)

test('releasing twice does not release anyone else’s nodes', () => {
  const { closed, letGo } = clients({ a: ['x:1'], b: ['x:1'], c: ['x:1'] })
  letGo.a()
  letGo.a()
  letGo.b()
  expect(closed).toEqual([])
  letGo.c()
  expect(closed.toSorted()).toEqual(['a', 'b', 'c'])
  letGo.b()
  expect(closed).toHaveLength(3)
})
