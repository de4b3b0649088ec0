import { describe, expect, it } from 'vitest'
import type { CareRecord } from '../../domain/care-record.ts'
import { changedRecord } from './changes-since.ts'

const version = (number: number, value: string): CareRecord => ({
  patient: 'ann',
  domain: 'tea',
  audience: 'user',
  value,
  authorId: 'dr',
  authorLabel: 'Dr Osei',
  writtenAt: '2026-01-01T00:00:00.000Z',
  version: number,
  versionHash: '',
  prevHash: '',
})

describe('C29: what changed in a record', () => {
  const [each, two, three] = [version(1, 'ten'), version(2, 'twenty'), version(3, 'thirty')]

  it('a person who was told ten is told to disregard ten, and every other sentence withdrawn since', () => {
    expect(
      changedRecord({ valid: each, lastTold: each, since: [two, three], newest: three }),
    ).toMatchObject({
      uri: 'care://ann/tea',
      revisions: 2,
      corrections: 2,
      value: 'thirty',
      previousValue: 'ten',
      withdrawn: ['ten', 'twenty'],
      retraction:
        'Correction from Dr Osei. Please disregard “ten”. Also disregard “twenty”. It was corrected 2 times. It is now “thirty”.',
    })
  })

  it('one correction is said as one', () => {
    const changed = changedRecord({ valid: each, lastTold: each, since: [two], newest: two })
    expect(changed.retraction).toBe(
      'Correction from Dr Osei. Please disregard “ten”. It is now “twenty”.',
    )
  })

  it('of a record that is newer than that time, the value before the newest is taken back', () => {
    const since = [each, two, three]
    expect(
      changedRecord({ valid: undefined, lastTold: undefined, since, newest: three }),
    ).toMatchObject({
      revisions: 3,
      previousValue: 'twenty',
      withdrawn: ['ten', 'twenty'],
    })
  })

  it('a first version has nothing to take back', () => {
    expect(
      changedRecord({ valid: undefined, lastTold: undefined, since: [each], newest: each }),
    ).toMatchObject({ revisions: 1, previousValue: null, withdrawn: [], retraction: undefined })
  })

  it('a value that holds again is not withdrawn, and what was said in between is', () => {
    const again = version(3, 'ten')
    expect(
      changedRecord({ valid: each, lastTold: each, since: [two, again], newest: again }),
    ).toMatchObject({
      previousValue: 'ten',
      withdrawn: ['twenty'],
      corrections: 2,
      retraction:
        'Correction from Dr Osei. Please disregard “twenty”. It was corrected 2 times. It is now “ten”.',
    })
  })

  it('a confirmed value takes nothing back, and counts as a revision', () => {
    const same = version(2, 'ten')
    expect(
      changedRecord({ valid: each, lastTold: each, since: [same], newest: same }),
    ).toMatchObject({
      revisions: 1,
      corrections: 0,
      withdrawn: [],
      retraction: undefined,
    })
  })
})
