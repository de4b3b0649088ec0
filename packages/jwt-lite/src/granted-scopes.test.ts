import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { grantedScopes, narrowScopes } from './granted-scopes.ts'

describe('C23: roles and groups become scopes', () => {
  it.each([
    ['a text', { role: 'nurse' }, { claim: 'role', value: 'nurse' }, ['s']],
    ['an array', { groups: ['a', 'b'] }, { claim: 'groups', value: 'b' }, ['s']],
    [
      'within',
      { realm_access: { roles: ['n'] } },
      { claim: 'realm_access.roles', value: 'n' },
      ['s'],
    ],
    ['a name with dots', { 'https://x.test/roles': 'n' }, { claim: 'https://x.test/roles' }, ['s']],
    ['another value', { role: 'cook' }, { claim: 'role', value: 'nurse' }, []],
    ['part of a value', { role: 'nurses' }, { claim: 'role', value: 'nurse' }, []],
    ['no claim', {}, { claim: 'role' }, []],
    ['no text', { role: [1, null, {}, '', true] }, { claim: 'role' }, []],
    ['what every object has', {}, { claim: 'constructor.name' }, []],
  ])('%s', (...row) => {
    const [, claims, grant, scopes] = row
    expect(grantedScopes(claims, [{ ...grant, scopes: ['s'] }])).toEqual(scopes)
  })

  it('each value of a claim names its own thing, percent-encoded, so that no value adds a scope (C24)', () => {
    const grants = [{ claim: 'wards', scopes: ['care.read.user:{value}'] }]
    expect(grantedScopes({ wards: ['maria', 'ann lee', 'x care.write', '$&'] }, grants)).toEqual([
      'care.read.user:maria',
      'care.read.user:ann%20lee',
      'care.read.user:x%20care.write',
      'care.read.user:%24%26',
    ])
  })
})

const covers = (by: readonly string[], scope: string) =>
  by.includes(scope) || by.includes(scope.split(':')[0] ?? '')

describe('what a client asked for narrows what its user may', () => {
  it.each([
    [['a', 'b'], ['a'], ['a']],
    [['a:x', 'a:y'], ['a'], ['a:x', 'a:y']],
    [['a'], ['a:x'], ['a:x']],
    [['a:x'], ['a:y'], []],
    [['a:x'], ['a:x:y'], []],
    [['ab'], ['a'], []],
    [['a'], [], []],
  ])('%j of which %j is %j', (granted, requested, both) => {
    expect(narrowScopes(granted, requested)).toEqual(both)
  })

  const scope = fc.constantFrom('a', 'a:x', 'a:y', 'a:x:y', 'b', 'b:x', 'ab')
  it('nobody gains: every result is within something granted and something asked', () => {
    fc.assert(
      fc.property(fc.array(scope), fc.array(scope), (granted, requested) => {
        for (const narrowed of narrowScopes(granted, requested))
          expect(covers(granted, narrowed) && covers(requested, narrowed)).toBe(true)
      }),
    )
  })
})
