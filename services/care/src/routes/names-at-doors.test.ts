// C38: one human name is one record, through every door that takes a name; and the chains of before.

import { systemClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCare } from '../command/run-care.ts'
import { modernBody, modernHeaders } from '../mcp/edges/modern.fixture.ts'
import { PROMPTS } from '../mcp/methods/prompt-methods.ts'
import { MODERN_RESOURCE, testEnvironment } from '../testing/care.fixture.ts'
import { openHost } from '../testing/mcp-host.fixture.ts'
import { type RunningCare, startRunningCare } from '../testing/running-care.fixture.ts'
import { subscribeParams } from '../wire/events.ts'
import { TOOL_INPUTS } from '../wire/mcp.ts'

const COMPOSED = 'José'
const APART = 'Jose\u0301'
const KEPT = `care://${encodeURIComponent(APART)}/medication`
const URI = 'care://Jos%C3%A9/medication'
const record = { domain: 'medication', authorId: 'dr-osei', value: 'Take 5 mg.' }
const SEALED = { SEAL_KEYS: `key-1:${Buffer.alloc(32, 1).toString('base64')}`, READ_AUDIT: 'all' }
const SCOPE = 'care.read.user care.read.assistant care.write'

describe('C38: José composed and decomposed', () => {
  let care: RunningCare
  beforeEach(async () => {
    care = await startRunningCare({ environment: SEALED })
    await care.write({ ...record, patient: COMPOSED })
  })
  afterEach(() => care.remove())

  const call = async (method: string, params: object, scope = SCOPE): Promise<string> => {
    const answer = await fetch(`${care.url}/mcp/2026-07-28`, {
      method: 'POST',
      headers: {
        ...modernHeaders(method, params),
        authorization: `Bearer ${care.token(scope, { audience: MODERN_RESOURCE })}`,
      },
      body: modernBody(method, params),
    })
    return await answer.text()
  }
  const get = async (path: string): Promise<string> => {
    const headers = { authorization: `Bearer ${care.token(SCOPE)}` }
    const answer = await fetch(`${care.url}${path}`, { headers })
    return `${answer.status} ${await answer.text()}`
  }
  const tool = (name: string, input: object) => call('tools/call', { name, arguments: input })
  const prompt = (name: string) =>
    call('prompts/get', { name, arguments: { patient: APART, domain: record.domain } })
  const command = async (...words: readonly string[]): Promise<string> => {
    const printed: string[] = []
    await runCare({
      arguments: words,
      environment: { ...testEnvironment, ...SEALED, ...care.place.environment },
      clock: systemClock,
      stdin: (async function* () {})(),
      print: (line) => printed.push(line),
      printError: (line) => printed.push(line),
    })
    return printed.join('\n')
  }
  const uri = encodeURIComponent(KEPT)

  /** Each door by its name in the code, and what it answers when the name is given apart. */
  const DOORS: Readonly<Record<string, readonly [() => Promise<string>, RegExp]>> = {
    'tool list_records': [() => tool('list_records', { patient: APART }), /Jos%C3%A9\/medication/],
    'tool read_record': [() => tool('read_record', { uri: KEPT }), /Take 5 mg/],
    'tool whats_changed': [() => tool('whats_changed', { patient: APART }), /Take 5 mg|medication/],
    'tool fetch': [() => tool('fetch', { id: KEPT }), /Take 5 mg/],
    'prompt brief_carer': [() => prompt('brief_carer'), /Take 5 mg/],
    'prompt whats_changed': [() => prompt('whats_changed'), /medication/],
    'GET /verify uri': [() => get(`/verify?uri=${uri}`), /^200 .*Jos%C3%A9/],
    'GET /verify/export uri': [
      () => get(`/verify/export?uri=${uri}`),
      /^200 .*\n.*Jos%C3%A9\/medication\/1/s,
    ],
    'GET /verify/proof uri': [() => get(`/verify/proof?uri=${uri}`), /^200 .*"index":0/],
    'GET /reads patient': [
      async () => {
        await call('resources/read', { uri: URI })
        const path = `/reads?patient=${encodeURIComponent(APART)}`
        await expect.poll(() => get(path)).toContain('resources/read')
        return await get(path)
      },
      /Jos%C3%A9/,
    ],
    'resources/read': [() => call('resources/read', { uri: KEPT }), /Jos%C3%A9.*Take 5 mg/s],
    'completion/complete': [
      () =>
        call('completion/complete', {
          ref: { type: 'ref/resource', uri: 'care://{patient}/{domain}/{version}' },
          argument: { name: 'domain', value: 'med' },
          context: { arguments: { patient: APART } },
        }),
      /medication/,
    ],
    'completion of a patient': [
      () =>
        call('completion/complete', {
          ref: { type: 'ref/prompt', name: 'brief_carer' },
          argument: { name: 'patient', value: APART },
        }),
      /José/,
    ],
    scope: [
      () => call('resources/read', { uri: URI }, `care.read.user:${encodeURIComponent(APART)}`),
      /Take 5 mg/,
    ],
    'scope of the other form': [
      () => call('resources/read', { uri: KEPT }, `care.read.user:${encodeURIComponent(COMPOSED)}`),
      /Take 5 mg/,
    ],
    'POST /write': [
      async () => await (await care.write({ ...record, patient: APART })).text(),
      /"uri":"care:\/\/Jos%C3%A9\/medication","version":2/,
    ],
    'care export --uri': [() => command('export', '--uri', KEPT), /Jos%C3%A9\/medication\/1/],
    'care free': [
      () => command('free', KEPT, '--by', 'kin', '--reason', 'test'),
      /the topic is free/,
    ],
    'care erase': [
      () => command('erase', KEPT, '--by', 'kin', '--reason', 'test'),
      /the values of 1 versions are gone/,
    ],
  }

  it.each(Object.keys(DOORS))('is one record through %s', async (name) => {
    const [ask, expected] = DOORS[name] ?? []
    expect(await ask?.()).toMatch(expected ?? /never/)
  })

  it('no door that takes a name is missing above', () => {
    const { paths } = care.service.app.swagger() as unknown as {
      paths: Record<string, Record<string, { parameters?: { name: string; in: string }[] }>>
    }
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { parameters = [] }]) =>
        parameters
          .filter(({ name }) => ['uri', 'patient', 'domain'].includes(name))
          .map(({ name }) => `${method.toUpperCase()} ${path} ${name}`),
      ),
    )
    const tools = Object.entries(TOOL_INPUTS)
      .filter(([, { shape }]) => ['uri', 'id', 'patient', 'domain'].some((name) => name in shape))
      .map(([name]) => `tool ${name}`)
    const prompts = PROMPTS.filter((each) =>
      each.arguments.some(({ name }) => name === 'patient'),
    ).map(({ name }) => `prompt ${name}`)
    expect(Object.keys(DOORS)).toEqual(expect.arrayContaining([...routes, ...tools, ...prompts]))
  })

  it('who follows either spelling hears the correction', async () => {
    const host = await openHost(care, SCOPE)
    await host.request('resources/subscribe', { uri: KEPT })
    const heard = host.nextNotification('notifications/resources/updated')
    const written = await care.write({ ...record, patient: APART, value: 'Take 3 mg.' })
    expect(await written.json()).toMatchObject({ subscribers: 1, notified: true })
    expect((await heard).params).toMatchObject({ uri: URI })
    await host.request('resources/unsubscribe', { uri: KEPT })
    const later = await care.write({ ...record, patient: COMPOSED, value: 'Take 2 mg.' })
    expect(await later.json()).toMatchObject({ subscribers: 0 })
    await host.close()
  })

  it('a webhook follows the normal form', () => {
    const secret = `whsec_${Buffer.alloc(32).toString('base64')}`
    const delivery = { mode: 'webhook', url: 'https://host.example/', secret }
    const parsed = subscribeParams.parse({ arguments: { patient: APART }, delivery })
    expect(parsed.arguments.patient).toBe(COMPOSED)
  })
})

describe('C38: a chain of before under another spelling', () => {
  let care: RunningCare
  const old = { ...record, patient: APART, audience: 'user', authorLabel: 'Dr Osei' } as const
  beforeEach(async () => {
    care = await startRunningCare({ environment: SEALED })
    const { value, ...written } = old
    await care.service.store.append({
      ...written,
      value,
      staleAfter: undefined,
      priority: undefined,
    })
    await care.stop()
    care = await startRunningCare({ environment: SEALED, place: care.place })
  })
  afterEach(() => care.remove())

  it('is read by the URI that a host has kept, and reported', async () => {
    const verdict = await fetch(`${care.url}/verify?uri=${encodeURIComponent(KEPT)}`)
    expect(await verdict.json()).toMatchObject({ uri: KEPT, intact: true, oldName: true })
    const { chains } = (await (await fetch(`${care.url}/verify`)).json()) as { chains: object[] }
    expect(chains).toMatchObject([{ uri: KEPT, oldName: true }])
    const report = await fetch(`${care.url}/verify`, { headers: { accept: 'text/plain' } })
    expect(await report.text()).toContain('\n1 chain(s) under names of before')
    const found = await care.service.store.latest({ ...old, patient: APART })
    expect(found).toMatchObject({ record: { value: old.value } })
  })

  it('attack: a write under the normal form neither joins it nor begins a second record beside it', async () => {
    for (const patient of [APART, COMPOSED])
      for (const audience of ['user', 'assistant']) {
        const refused = await care.write({ ...record, patient, audience, value: 'Take 3 mg.' })
        expect([refused.status, await refused.json()]).toEqual([409, { error: 'conflict' }])
      }
    expect(await care.service.store.latest(old)).toMatchObject({ latestVersion: 1 })
  })

  it('whoever moves it aside can write the normal form', async () => {
    const words = ['free', KEPT, '--by', 'kin', '--reason', 'one name']
    await runCare({
      arguments: words,
      environment: { ...testEnvironment, ...SEALED, ...care.place.environment },
      clock: systemClock,
      stdin: (async function* () {})(),
      print: () => undefined,
      printError: () => undefined,
    })
    const written = await care.write({ ...record, patient: APART, value: 'Take 3 mg.' })
    expect(await written.json()).toMatchObject({ uri: URI, version: 1 })
    expect(await care.service.store.latest(old)).toMatchObject({ record: { value: 'Take 3 mg.' } })
  })
})

describe('C38: a name that may be taken for another', () => {
  let care: RunningCare
  beforeEach(async () => {
    care = await startRunningCare()
    await care.write({ ...record, patient: 'ann' })
  })
  afterEach(() => care.remove())
  const writeAs = async (scope: string, body: object) => {
    const answer = await fetch(`${care.url}/write`, {
      method: 'POST',
      headers: { authorization: `Bearer ${care.token(scope)}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...record, ...body }),
    })
    return (await answer.json()) as { readonly warning?: object }
  }

  const requested = async (patient: string, domain = record.domain) => {
    const answer = await care.write({ ...record, patient, domain })
    return ((await answer.json()) as { readonly warning?: object }).warning
  }

  it('is asked about on the first version of a new patient or topic', async () => {
    expect(await requested('Ann')).toEqual({ reason: 'alike_names', names: ['ann'] })
    expect(await requested('Ann')).toBe(undefined)
    expect(await requested('аnn')).toMatchObject({
      names: expect.arrayContaining(['ann', 'Ann']) as string[],
    })
    expect(await requested('ann', 'Medication')).toEqual({
      reason: 'alike_names',
      names: ['medication'],
    })
    expect(await requested('Anna')).toBe(undefined)
  })

  it('C30: tells a writer only of chains that it may read', async () => {
    await care.write({ ...record, patient: 'bo', audience: 'assistant' })
    const everything = 'care.write care.read.user care.read.assistant'
    expect((await writeAs('care.write', { patient: 'ANN' })).warning).toBe(undefined)
    expect((await writeAs('care.write care.read.user', { patient: 'BO' })).warning).toBe(undefined)
    expect((await writeAs('care.write:aNN care.read.user:aNN', { patient: 'aNN' })).warning).toBe(
      undefined,
    )
    expect((await writeAs(everything, { patient: 'Bo' })).warning).toMatchObject({
      names: expect.arrayContaining(['bo']) as string[],
    })
  })
})
