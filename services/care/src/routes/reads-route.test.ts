// The read log of a person: who is given it, what it names, and what it does not tell.
import { afterEach, describe, expect, it } from 'vitest'
import { openHost } from '../testing/mcp-host.fixture.ts'
import { type RunningCare, startRunningCare } from '../testing/running-care.fixture.ts'
import type { ReadsAnswer } from '../wire/reads.ts'

const tea = { patient: 'ann', domain: 'tea', value: 'No sugar.', authorId: 'dr-osei' }
const plan = { ...tea, domain: 'plan', audience: 'assistant', value: 'Only for assistants.' }
const BOTH = 'care.read.user care.read.assistant'
const RECORDED = { READ_AUDIT: 'all', BEARER_AUTHOR: 'sub', AUTHOR_LABELS: '{"host-1":"Kitchen"}' }

let care: RunningCare
afterEach(() => care.remove())

const ask = (query: string, scope?: string) =>
  fetch(`${care.url}/reads?${query}`, {
    headers: scope === undefined ? {} : { authorization: `Bearer ${care.token(scope)}` },
  })
const log = async (query: string, scope: string): Promise<ReadsAnswer> =>
  (await (await ask(query, scope)).json()) as ReadsAnswer
/** Rows are written within a second. */
const rowsWhen = async (count: number, scope: string): Promise<ReadsAnswer> => {
  await expect.poll(async () => (await log('patient=ann', scope)).reads.length).toBe(count)
  return log('patient=ann', scope)
}

describe('C30: GET /reads', () => {
  it('tells who read what of a person and when, newest first, to a token that covers the person', async () => {
    care = await startRunningCare({ environment: RECORDED })
    for (const record of [tea, plan, { ...tea, patient: 'anna' }, { ...tea, patient: 'bob' }])
      await care.write(record)
    const host = await openHost(care, BOTH)
    for (const uri of ['care://ann/tea', 'care-internal://ann/plan', 'care://bob/tea'])
      await host.request('resources/read', { uri })
    await host.request('resources/read', { uri: 'care://anna/tea' })
    await host.request('resources/read', { uri: 'care://ann/none' })
    await host.close()
    const auditor = care.token(BOTH, { sub: 'auditor' })
    await fetch(`${care.url}/verify/export`, { headers: { authorization: `Bearer ${auditor}` } })
    const seen = await rowsWhen(5, BOTH)
    expect(
      seen.reads.map(({ actor, label, outcome, uri }) => [actor, label, outcome, uri]),
    ).toEqual([
      ['auditor', 'auditor', 'served', 'care-internal://*'],
      ['auditor', 'auditor', 'served', 'care://*'],
      ['host-1', 'Kitchen', 'not_found', 'care://ann/none'],
      ['host-1', 'Kitchen', 'served', 'care-internal://ann/plan/1'],
      ['host-1', 'Kitchen', 'served', 'care://ann/tea/1'],
    ])
    expect(seen).toMatchObject({ recording: 'all', days: 365 })
    expect(JSON.stringify(seen)).not.toMatch(/sugar|Only/)
    // Whoever may not read internal records does not hear of their reads.
    const atHome = await log('patient=ann', 'care.read.user:ann')
    expect(atHome.reads.map(({ uri }) => uri)).toEqual([
      'care://*',
      'care://ann/none',
      'care://ann/tea/1',
    ])
    // Page by page, nothing twice and nothing left out.
    const first = await log('patient=ann&limit=2', BOTH)
    const second = await log(`patient=ann&limit=3&before=${first.next}`, BOTH)
    expect([...first.reads, ...second.reads]).toEqual(seen.reads)
    expect(second.next).toBeUndefined()
  })

  it('a person whom the token does not cover, or who is not there, is refused alike, and a name alone decides', async () => {
    care = await startRunningCare({ environment: RECORDED })
    await care.write(tea)
    for (const scope of ['care.read.user:bob', 'care.write', 'openid'])
      for (const patient of ['ann', 'nobody']) {
        const answer = await ask(`patient=${patient}`, scope)
        expect([answer.status, await answer.json()]).toEqual([403, { error: 'insufficient_scope' }])
      }
    expect((await ask('patient=ann')).status).toBe(401)
    for (const query of [
      '',
      'patient=',
      'patient=a%2Fb',
      'patient=ann&limit=201',
      'patient=ann&before=x',
    ])
      expect((await ask(query, BOTH)).status, query).toBe(400)
    expect(await log('patient=nobody', BOTH)).toEqual({ recording: 'all', days: 365, reads: [] })
  })

  it('says that reads are not recorded, where they are not', async () => {
    care = await startRunningCare()
    expect(await log('patient=ann', BOTH)).toMatchObject({ recording: 'off', reads: [] })
  })

  it.each(['Jürgen Müller', 'ward:A', 'دواء', 'a%b'])('finds %s by its name', async (patient) => {
    care = await startRunningCare({ environment: RECORDED })
    await care.write({ ...tea, patient })
    const host = await openHost(care, BOTH)
    await host.request('resources/read', { uri: `care://${encodeURIComponent(patient)}/tea` })
    await host.close()
    const query = `patient=${encodeURIComponent(patient)}`
    await expect.poll(async () => (await log(query, BOTH)).reads.length).toBe(1)
  })
})
