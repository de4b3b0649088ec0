import { GENESIS_PREV_HASH, leafHash, versionHash, versionPreimage } from '@tallystick/hashchain'
import { anyCharacter } from '@tallystick/service-kit/any-character'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isRecordName } from '../wire/record-uri.ts'
import { WITHDRAWALS } from '../wire/records.ts'
import {
  createEntryCutter,
  entryLeafHash,
  nextEntry,
  readJournalEntry,
  readRecord,
  writeJournalEntry,
} from './journal-entry.ts'

const text = fc.string({ unit: anyCharacter })
const name = fc.string({ minLength: 1, unit: anyCharacter }).filter(isRecordName)
/** Text that looks like the members of an entry and could trip up a cutter that does not parse. */
const tricky = fc
  .array(
    fc.constantFrom(
      '"',
      '\\',
      ',',
      ':',
      '}',
      ',"value":"',
      ',"prevHash":"',
      '"authorLabel"',
      '\u2028',
      'é',
    ),
  )
  .map((parts) => parts.join(''))

const madeFields = fc.record(
  {
    patient: name,
    domain: name,
    audience: fc.constantFrom('user' as const, 'assistant' as const),
    value: fc.oneof(text, tricky),
    authorId: fc.oneof(text, tricky),
    authorLabel: fc.oneof(text, tricky),
    staleAfter: fc.oneof(text, tricky),
    priority: fc.double({ noNaN: true, noDefaultInfinity: true }),
    language: fc.stringMatching(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{2,8}){0,2}$/),
  },
  { requiredKeys: ['patient', 'domain', 'audience', 'value', 'authorId', 'authorLabel'] },
)
const record = fc
  .tuple(madeFields, fc.constantFrom(...WITHDRAWALS))
  .map(([made, status]) => (made.value === '' ? { ...made, status } : made))

const makeEntry = (from: Parameters<typeof nextEntry>[0]['record'], version = 1) =>
  nextEntry({
    record: from,
    prevHash: GENESIS_PREV_HASH,
    version,
    writtenAt: '2026-06-01T08:00:00.000Z',
    random: 'ab'.repeat(32),
  })

const sample = makeEntry({
  patient: 'ann',
  domain: 'tea',
  audience: 'user',
  value: 'No sugar.',
  authorId: 'dr-osei',
  authorLabel: 'Dr Osei',
})

describe('C9: journal entries', () => {
  it('an entry is RFC 8785 JSON of every field and the random bytes', () => {
    expect(writeJournalEntry(sample)).toBe(
      `{"audience":"user","authorId":"dr-osei","authorLabel":"Dr Osei","domain":"tea","patient":"ann","prevHash":"${GENESIS_PREV_HASH}","random":"${'ab'.repeat(32)}","value":"No sugar.","version":1,"versionHash":"${sample.versionHash}","writtenAt":"2026-06-01T08:00:00.000Z"}`,
    )
  })

  it('every record is read back as it was written', () => {
    fc.assert(
      fc.property(record, fc.integer({ min: 1, max: 1e12 }), (fields, version) => {
        const entry = makeEntry(fields, version)
        const read = readJournalEntry(writeJournalEntry(entry))
        // JSON has only one zero.
        expect(read).toEqual(Object.is(entry.priority, -0) ? { ...entry, priority: 0 } : entry)
      }),
    )
  })

  it('its leaf is the RFC 9162 hash of its bytes', () => {
    fc.assert(
      fc.property(record, (fields) => {
        const entry = writeJournalEntry(makeEntry(fields))
        expect(entryLeafHash(entry)).toBe(Buffer.from(leafHash(Buffer.from(entry))).toString('hex'))
      }),
    )
  })

  it('C37: the language stands in the entry, and the version hash is the same without it', () => {
    const { random: _, ...fields } = sample
    const german = makeEntry({ ...fields, language: 'de' })
    expect(writeJournalEntry(german)).toContain('"domain":"tea","language":"de","patient":"ann"')
    expect(german.versionHash).toBe(sample.versionHash)
  })

  it('the random bytes are not part of the record', () => {
    expect(readRecord(sample)).not.toHaveProperty('random')
  })

  it.each([
    ['white space', (entry: string) => entry.replace(',', ', ')],
    [
      'another order',
      (entry: string) =>
        entry.replace('{"audience":"user",', '{').replace('}', ',"audience":"user"}'),
    ],
    ['one member too many', (entry: string) => entry.replace('}', ',"x":1}')],
    ['a repeated member', (entry: string) => entry.replace('"value":', '"value":"a","value":')],
    ['one member too few', (entry: string) => entry.replace('"value":"No sugar.",', '')],
    ['another audience', (entry: string) => entry.replace('"user"', '"all"')],
    [
      'a version that is not an integer',
      (entry: string) => entry.replace('"version":1', '"version":1.5'),
    ],
    ['an invalid hash', (entry: string) => entry.replace('abab', 'ABAB')],
    ['half a surrogate pair', (entry: string) => entry.replace('No sugar', '\\ud800')],
    [
      'a language that is no tag',
      (entry: string) => entry.replace(',"patient"', ',"language":"d,e","patient"'),
    ],
    ['no object', () => '7'],
    ['no JSON', (entry: string) => entry.slice(1)],
    ['no value and no reason', (entry: string) => entry.replace('No sugar.', '')],
    [
      'a value and a reason',
      (entry: string) => entry.replace(',"value"', ',"status":"wrong-person","value"'),
    ],
  ])('a text with %s is not an entry', (_what, change) => {
    expect(readJournalEntry(change(writeJournalEntry(sample)))).toBeUndefined()
  })
})

describe('C8: the preimage cut out of an entry, and the priority', () => {
  it('are byte for byte what the version’s fields give, whatever the fields hold', () => {
    fc.assert(
      fc.property(record, fc.integer({ min: 1, max: 1e12 }), (fields, version) => {
        const entry = makeEntry(fields, version)
        const cut = createEntryCutter(entry)(writeJournalEntry(entry), version)
        expect(cut).toEqual({
          prevHash: entry.prevHash,
          versionHash: versionHash(entry),
          writtenAt: entry.writtenAt,
          preimage: versionPreimage(entry),
          // JSON knows no minus zero.
          priority: entry.priority === 0 ? 0 : entry.priority,
          language: entry.language,
          isWithdrawal: entry.value === '',
        })
      }),
      { numRuns: 500 },
    )
  })

  it('is not cut out of an entry of another slot or version', () => {
    const entry = writeJournalEntry(sample)
    const slot = { patient: 'ann', domain: 'tea', audience: 'user' } as const
    expect(createEntryCutter(slot)(entry, 1)).toBeDefined()
    expect(createEntryCutter(slot)(entry, 2)).toBeUndefined()
    expect(createEntryCutter({ ...slot, domain: 'te' })(entry, 1)).toBeUndefined()
    expect(createEntryCutter({ ...slot, patient: 'bob' })(entry, 1)).toBeUndefined()
    expect(createEntryCutter({ ...slot, audience: 'assistant' })(entry, 1)).toBeUndefined()
    expect(createEntryCutter(slot)('', 1)).toBeUndefined()
  })
})
