// `POST /write` with a status (C40): what withdraws, what is refused, and that anyone who may see the record can prove it.
import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CareFixture, startCareFixture } from '../testing/care.fixture.ts'
import { WITHDRAWALS } from '../wire/records.ts'
import { body, writesTo } from './write.fixture.ts'

let fixture: CareFixture
const { bearer, signed } = writesTo(() => fixture)
beforeEach(async () => {
  fixture = await startCareFixture()
})
afterEach(() => fixture.close())

const { value: _, ...names } = body
const internal = { ...body, domain: 'risk', audience: 'assistant' }
const WITHDRAWN = { ...names, status: 'entered-in-error' }
const json = (over: object): string => JSON.stringify(over)
const lastReason = (): string | undefined => fixture.audit.rows.at(-1)?.reason

describe('200', () => {
  it.each(WITHDRAWALS)(
    'C40: a write with the status %s needs no value, and makes the next version',
    async (status) => {
      const first = await signed(json(body))
      fixture.clock.advanceMs(1_000)
      const answer = await fixture.write({ ...names, status })
      expect(answer.json()).toMatchObject({ uri: 'care://ann/medication', version: 2 })
      expect(fixture.hub.published.at(-1)).toMatchObject({
        record: { value: '', status, prevHash: first.json().versionHash },
        previous: { value: body.value },
      })
    },
  )

  it('C40: its hash is SHA-256 over an empty value, as /doc/verify has the bytes', async () => {
    const { versionHash: prevHash } = (await signed(json(body))).json()
    const { versionHash, writtenAt } = (await bearer('care.write', json(WITHDRAWN))).json()
    const bytes = `["${prevHash}","","${writtenAt}","${body.authorId}"]`
    expect(versionHash).toBe(createHash('sha256').update(bytes).digest('hex'))
    const verdict = await fixture.get('/verify?uri=care://ann/medication', {
      accept: 'application/json',
    })
    expect(verdict.json()).toMatchObject({ versions: 2, intact: true })
  })

  it('C40, C9: nothing public says that a record was withdrawn, or why', async () => {
    await signed(json(body))
    // Its script's words name every kind of change, so the page is compared with itself.
    const overview = await fixture.get('/')
    const withdrawal = json({ ...names, status: 'wrong-person' })
    expect((await bearer('care.write', withdrawal)).statusCode).toBe(200)
    expect((await fixture.get('/')).body).toBe(overview.body)
    for (const url of [
      '/verify',
      '/verify?uri=care://ann/medication',
      '/verify/checkpoint',
      '/metrics',
    ])
      expect((await fixture.get(url)).body).not.toMatch(
        /wrong.person|withdrawn(?!_)|entered.in.error/i,
      )
  })

  it('an empty value beside a status is none; a review date and a priority are not kept', async () => {
    await signed(json(body))
    for (const value of ['', null]) {
      const more = { value, staleAfter: '2026-11-22', priority: 1 }
      expect((await bearer('care.write', json({ ...WITHDRAWN, ...more }))).statusCode).toBe(200)
    }
    const { record } = fixture.hub.published.at(-1) ?? {}
    expect(record).toMatchObject({ version: 3, value: '' })
    expect([record?.staleAfter, record?.priority]).toEqual([undefined, undefined])
  })

  it('C14: a signed withdrawal that comes again is answered as before and adds no version', async () => {
    await fixture.write(body)
    const payload = json(WITHDRAWN)
    const [first, again] = [await signed(payload), await signed(payload)]
    expect(again.json()).toEqual(first.json())
    expect(lastReason()).toBe('repeated')
  })

  it('an ordinary write brings the record back', async () => {
    await signed(json(body))
    await bearer('care.write', json(WITHDRAWN))
    const back = await bearer('care.write', json({ ...body, value: 'Take two.', status: null }))
    expect(back.json()).toMatchObject({ version: 3 })
  })
})

describe('401', () => {
  it.each([
    ['a value beside a status', { ...body, status: 'entered-in-error' }],
    ['neither value nor status', names],
    ['a null for both', { ...names, value: null, status: null }],
    ['another status', { ...names, status: 'current' }],
    ['another status beside a value', { ...body, status: 'retracted' }],
    ['a status in capitals', { ...names, status: 'ENTERED-IN-ERROR' }],
    ['a status of another type', { ...names, status: ['entered-in-error'] }],
  ])('%s is invalid_fields, and writes nothing', async (_name, fields) => {
    await signed(json(body))
    expect((await bearer('care.write', json(fields))).statusCode).toBe(401)
    expect(lastReason()).toBe('invalid_fields')
    expect(fixture.hub.published).toHaveLength(1)
  })

  it('C47: an internal record is withdrawn only by who may read it, since the answer tells whether it is there', async () => {
    await bearer('care.write', json(internal))
    const { value: __, ...withdrawal } = { ...internal, status: 'wrong-person' }
    for (const domain of ['risk', 'nothing'])
      expect((await bearer('care.write', json({ ...withdrawal, domain }))).statusCode).toBe(401)
    expect(lastReason()).toBe('insufficient_scope')
    const both = 'care.write care.read.assistant'
    expect((await bearer(both, json(withdrawal))).statusCode).toBe(200)
  })
})

describe('409', () => {
  it('nothing_to_withdraw where there is no such record, in words', async () => {
    const answer = await signed(json(WITHDRAWN))
    expect(answer.statusCode).toBe(409)
    expect(answer.json()).toMatchObject({
      error: 'nothing_to_withdraw',
      message: expect.stringContaining('There is no such record'),
    })
    expect(lastReason()).toBe('store_rejected')
  })

  it('conflict where the record is the other audience’s, version_conflict where somebody was faster', async () => {
    await bearer('care.write', json(internal))
    const other = await bearer('care.write', json({ ...WITHDRAWN, domain: 'risk' }))
    expect(other.json().error).toBe('conflict')
    for (const value of ['one', 'two']) await bearer('care.write', json({ ...body, value }))
    const late = await bearer('care.write', json({ ...WITHDRAWN, expectedVersion: 1 }))
    expect(late.json()).toMatchObject({ error: 'version_conflict', version: 2 })
  })
})
