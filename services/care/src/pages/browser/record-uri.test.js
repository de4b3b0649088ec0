import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import * as service from '../../wire/record-uri.ts'
import { chainUri, parseChainUri } from './record-uri.js'

const name = fc.string({ minLength: 1, unit: 'binary' }).filter(service.isRecordName)
const slot = fc.record({
  patient: name,
  domain: name,
  audience: fc.constantFrom(/** @type {const} */ ('user'), /** @type {const} */ ('assistant')),
})

it('C7: writes the URI that the service writes, and reads it back, for every name', () => {
  fc.assert(
    fc.property(slot, (one) => {
      expect(chainUri(one)).toBe(service.chainUri(one))
      expect(parseChainUri(chainUri(one))).toEqual(one)
    }),
  )
})

it.each(['care://a/b/1', 'care://a/b/1/audio', 'ui://care/echo', 'care://a', 'care://a/%zz', ''])(
  '%j names no chain',
  (uri) => {
    expect(parseChainUri(uri)).toBeUndefined()
  },
)
