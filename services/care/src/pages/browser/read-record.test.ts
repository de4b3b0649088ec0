import { expect, it } from 'vitest'
import { chainUri } from '../../wire/record-uri.ts'
import { readChain } from './read-record.ts'

it('C7: reads the chain from a URI', () => {
  const slot = { patient: 'a b', domain: 'é', audience: 'assistant' } as const
  expect(readChain(chainUri(slot))).toEqual(slot)
})

it.each(['care://a/b/1', 'care://a/b/1/audio', 'ui://care/echo', 'care://a', 'care://a/%zz', ''])(
  '%j names no chain',
  (uri) => {
    expect(readChain(uri)).toBeUndefined()
  },
)
