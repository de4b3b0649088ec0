import { describe, expect, test } from 'vitest'
import { standInTerms } from '../testing/hedera-stand-in.fixture.ts'
import { isForResource, matchRequirement } from './match-requirement.ts'

const { requirements, resource } = standInTerms()
const [requirement] = requirements
if (requirement === undefined) throw new Error('no requirement')
const accepted = { ...requirement, extra: { ...requirement.extra } }
const match = (changes: object): unknown =>
  matchRequirement({ ...accepted, ...changes }, requirements)

describe('X3: what matches', () => {
  test.each<[string, object]>([
    ['an exact echo', {}],
    ['an echo with price', { price: { asset: '0.0.0', amount: '300000000' } }],
    ['further keys in extra', { extra: { ...accepted.extra, color: 'red' } }],
    ['extra in another order', { extra: { paymentFlow: 'upfront', feePayer: '0.0.5001' } }],
  ])('%s', (_name, changes) => {
    expect(match(changes)).toBe(requirement)
  })

  test('the second of two offers', () => {
    const first = { ...requirement, amount: '1' }
    expect(matchRequirement(accepted, [first, requirement])).toBe(requirement)
  })
})

describe('X3: what does not', () => {
  test.each<[string, object]>([
    ['scheme', { scheme: 'upto' }],
    ['network', { network: 'hedera:mainnet' }],
    ['amount', { amount: '299999999' }],
    ['amount in another spelling', { amount: '0300000000' }],
    ['asset', { asset: '0.0.1' }],
    ['payTo', { payTo: '0.0.66' }],
    ['maxTimeoutSeconds', { maxTimeoutSeconds: 300 }],
    ['a missing extra', { extra: undefined }],
    ['another fee payer', { extra: { ...accepted.extra, feePayer: '0.0.66' } }],
    ['a missing payment flow', { extra: { feePayer: '0.0.5001' } }],
    ['extra from a prototype', { extra: Object.create(accepted.extra) as object }],
  ])('%s', (_name, changes) => {
    expect(match(changes)).toBeUndefined()
  })
})

describe('the resource that a payload names', () => {
  test.each([
    [undefined, true],
    [null, true],
    [{ url: resource.url }, true],
    [{ url: 'http://other.example/api/svc/access?agent=0x1' }, true],
    [{ url: 'https://access.example/api/svc/status' }, false],
    [{ url: 'https://access.example/api/svc/access/' }, false],
    [{ url: 'https://access.example/api/svc/%61ccess' }, false],
    [{ url: '/api/svc/access' }, false],
    [{ url: '' }, false],
  ])('%j: %s', (named, isOurs) => {
    expect(isForResource(named, resource)).toBe(isOurs)
  })
})
