// C29: a correction that nobody has heard is an alert. What counts as hearing, and what survives a restart.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type McpFixture, startMcp, USER } from './mcp.fixture.ts'

const MINUTE_MS = 60_000
const TEA = 'care://ann/tea'

let fixture: McpFixture
beforeEach(async () => {
  fixture = await startMcp({ limits: { unheardMs: 10 * MINUTE_MS, idleMs: 24 * 3_600_000 } })
})
afterEach(() => fixture.close())

const correct = async (): Promise<void> => {
  await fixture.write({ domain: 'tea', value: 'ten' })
  await fixture.write({ domain: 'tea', value: 'twenty' })
}
const alerts = () =>
  fixture.events.flatMap((each) => (each.kind === 'unheard' ? [each.correction] : []))
const SILENT = { uri: TEA, version: 2, since: '2026-11-21T12:00:00.000Z' }

describe('C29: a correction that nobody has heard', () => {
  it('is an alert once it has been silent for long enough, once, and stands in the list', async () => {
    await correct()
    fixture.clock.advanceMs(10 * MINUTE_MS - 1)
    expect(alerts()).toEqual([])
    fixture.clock.advanceMs(1)
    expect(alerts()).toEqual([SILENT])
    fixture.clock.advanceMs(60 * MINUTE_MS)
    expect([alerts(), fixture.endpoint.unheard()]).toEqual([[SILENT], [SILENT]])
    expect(fixture.endpoint.figures().unheard).toBe(1)
  })

  it('C37: carries the record’s language, in which its reader calls the person', async () => {
    await fixture.write({ domain: 'tea', value: 'zehn', language: 'de' })
    await fixture.write({ domain: 'tea', value: 'zwanzig', language: 'de-AT' })
    fixture.clock.advanceMs(10 * MINUTE_MS)
    expect(alerts()).toEqual([{ ...SILENT, language: 'de-AT' }])
  })

  it('keeps its time when it is corrected again, and is named by its newest version', async () => {
    await correct()
    fixture.clock.advanceMs(9 * MINUTE_MS)
    await fixture.write({ domain: 'tea', value: 'thirty' })
    fixture.clock.advanceMs(MINUTE_MS)
    expect(alerts()).toEqual([{ ...SILENT, version: 3 }])
  })

  it('is heard by a read of its newest version', async () => {
    await correct()
    const host = await fixture.open(USER)
    await host.result('resources/read', { uri: `${TEA}/1` })
    fixture.clock.advanceMs(10 * MINUTE_MS)
    expect(fixture.endpoint.unheard()).toEqual([SILENT])
    await host.result('resources/read', { uri: TEA })
    expect(fixture.endpoint.unheard()).toEqual([])
  })

  it.each([
    ['tools/call', { name: 'read_record', arguments: { uri: TEA } }],
    ['tools/call', { name: 'whats_changed', arguments: { patient: 'ann' } }],
    ['prompts/get', { name: 'brief_carer', arguments: { patient: 'ann' } }],
    ['prompts/get', { name: 'whats_changed', arguments: { patient: 'ann' } }],
  ])('is heard by %s %j', async (method, params) => {
    await correct()
    await (await fixture.open(USER)).result(method, params)
    fixture.clock.advanceMs(10 * MINUTE_MS)
    expect(alerts()).toEqual([])
  })

  it('is heard by a subscriber whose stream has carried it, at once or when it resumes', async () => {
    await fixture.write({ domain: 'tea', value: 'ten' })
    const host = await fixture.open(USER, { lifetimeSeconds: 86_400 })
    await host.subscribe(TEA)
    await fixture.write({ domain: 'tea', value: 'twenty' })
    fixture.clock.advanceMs(10 * MINUTE_MS)
    // Told, but away: nobody has heard it.
    expect(alerts()).toEqual([SILENT])
    const stream = await host.stream()
    await expect.poll(() => stream.updated).toEqual([TEA])
    expect(fixture.endpoint.unheard()).toEqual([])
    await fixture.write({ domain: 'tea', value: 'thirty' })
    await expect.poll(() => stream.updated).toEqual([TEA, TEA])
    fixture.clock.advanceMs(10 * MINUTE_MS)
    expect(alerts()).toHaveLength(1)
    stream.drop()
  })

  it('is not heard by the clinician who reads what stands there', async () => {
    await correct()
    const clinician = await fixture.open(`${USER} care.write`)
    await clinician.result('resources/read', { uri: TEA })
    fixture.clock.advanceMs(10 * MINUTE_MS)
    expect(alerts()).toEqual([SILENT])
  })

  it('is none if the value stayed, if it is the first version, or if the record is internal', async () => {
    await fixture.write({ domain: 'tea', value: 'ten' })
    await fixture.write({ domain: 'tea', value: 'ten' })
    for (const value of ['ten', 'twenty'])
      await fixture.write({ domain: 'plan', audience: 'assistant', value })
    fixture.clock.advanceMs(60 * MINUTE_MS)
    expect(alerts()).toEqual([])
  })

  it('survives a restart, and so does having been heard', async () => {
    await correct()
    for (const value of ['ten', 'twenty']) await fixture.write({ domain: 'diet', value })
    await (await fixture.open(USER)).result('resources/read', { uri: 'care://ann/diet' })
    await fixture.restart()
    fixture.clock.advanceMs(10 * MINUTE_MS)
    expect(fixture.endpoint.unheard()).toEqual([SILENT])
  })

  it('is known after a kill that came between its commit and anything else; what was heard stays heard', async () => {
    const tea = {
      patient: 'ann',
      audience: 'user',
      authorId: 'dr-osei',
      authorLabel: 'Dr Osei',
    } as const
    await correct()
    await (await fixture.open(USER)).result('resources/read', { uri: TEA })
    for (const value of ['ten', 'twenty'])
      await fixture.store.append({ ...tea, domain: 'diet', value })
    await fixture.restart()
    fixture.clock.advanceMs(10 * MINUTE_MS)
    expect(fixture.endpoint.unheard()).toEqual([{ ...SILENT, uri: 'care://ann/diet' }])
    await fixture.restart()
    expect(fixture.endpoint.unheard()).toEqual([])
    fixture.clock.advanceMs(10 * MINUTE_MS)
    expect(fixture.endpoint.unheard()).toHaveLength(1)
  })
})
