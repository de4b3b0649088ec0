import { describe, expect, it } from 'vitest'
import type { CareRecord } from '../domain/care-record.ts'
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

describe('what changed in a record', () => {
  it('counts the revisions and gives the previous value, so that it can be retracted', () => {
    const changed = changedRecord({
      before: version(1, 'one'),
      since: [version(2, 'two'), version(3, 'three')],
    })
    expect(changed).toMatchObject({
      uri: 'care://ann/tea',
      revisions: 2,
      previousValue: 'two',
      withdrawn: ['one', 'two'],
      retraction: expect.stringContaining('two'),
    })
  })

  it('a first version has nothing to take back', () => {
    expect(changedRecord({ before: undefined, since: [version(1, 'one')] })).toMatchObject({
      revisions: 1,
      previousValue: null,
      withdrawn: [],
      retraction: undefined,
    })
  })

  it('a value that holds again is not withdrawn', () => {
    const since = [version(1, 'one'), version(2, 'two'), version(3, 'one')] as const
    expect(changedRecord({ before: undefined, since: [...since] })).toMatchObject({
      withdrawn: ['two'],
    })
  })
})
