// What a reader must hear of a record (superseded, withdrawn, erased, stale, its age, its language) at every door through which
// records go out. Doors are read from the running service: a tool, prompt, method, route, command, kind of resource, notification or
// event that is added fails here until its row says what it shows of each fact; a fact that is added fails at every row. What a
// writer can say, and what a read says beside its text, is mapped to facts as well, so that a new field of either is a fact, or
// says why not. Pages have their rows in pages.fixture.ts; facts-on-pages.browser.test.ts looks at them.

import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FHIR_BUNDLES } from './domain/fhir-bundle.ts'
import { RECORD_METHODS } from './mcp/methods/dispatch.ts'
import { type Contents, findFault, NO_RECORDS, ROWS } from './testing/doors.fixture.ts'
import { aboutFact, FACTS, type Fact, type Facts, startFacts } from './testing/facts.fixture.ts'
import { PAGE_ROWS } from './testing/pages.fixture.ts'

/** What a read says beside its text, by the fact that it is of; or why it is of none. */
const META: Readonly<Record<string, Fact | 'name' | 'who' | 'order' | 'proof'>> = {
  uri: 'name',
  audience: 'name',
  value: 'superseded',
  version: 'superseded',
  supersededBy: 'superseded',
  'care/retraction': 'superseded',
  status: 'withdrawn',
  stale: 'stale',
  staleAfter: 'stale',
  writtenAt: 'age',
  'care/age': 'age',
  language: 'language',
  authorId: 'who',
  authorLabel: 'who',
  priority: 'order',
  versionHash: 'proof',
  prevHash: 'proof',
  // Says of a text that it is the retraction.
  'care/kind': 'superseded',
  // Of every record.
  'care/data': 'name',
}

/** What a writer can say of a record, by the fact that it makes; or why it makes none. */
const FIELDS: Readonly<Record<string, Fact | 'name' | 'who' | 'order' | 'condition'>> = {
  patient: 'name',
  domain: 'name',
  audience: 'name',
  value: 'superseded',
  status: 'withdrawn',
  staleAfter: 'stale',
  language: 'language',
  authorId: 'who',
  authorLabel: 'who',
  // It only sorts what hosts show.
  priority: 'order',
  expectedVersion: 'condition',
}

let facts: Facts
beforeAll(async () => {
  facts = await startFacts()
})
afterAll(() => facts.close())

type Listed = Readonly<
  Record<string, readonly { readonly name: string; readonly mimeType?: string }[]>
>

/** What `care help` lists. */
const VERB = /^ {2}care ([a-z-]+)/gm
/** By what the service says that it can do. */
const TOLD: Readonly<Record<string, readonly string[]>> = {
  resources: ['resources/updated', 'resources/list_changed'],
  logging: ['message'],
}

const listFiles = (folder: string, ending: string): readonly string[] =>
  readdirSync(new URL(folder, import.meta.url))
    .filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length))

/** The service's own lists of doors. */
async function readDoors(): Promise<ReadonlySet<string>> {
  const { call, capabilities, care, get, heard } = facts
  const list = async (what: string) => (await call<Listed>(`${what}/list`))?.[what] ?? []
  const { paths } = JSON.parse(await get('/openapi.json')) as { readonly paths: object }
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const messages = Object.keys(capabilities).flatMap((capability) => TOLD[capability] ?? [])
  return new Set([
    ...Object.keys(RECORD_METHODS),
    ...(await list('resources')).map(({ mimeType }) => `resources/read ${mimeType}`),
    ...(await list('tools')).map(({ name }) => `tool ${name}`),
    ...(await list('prompts')).map(({ name }) => `prompt ${name}`),
    ...messages.map((name) => `notifications/${name}`),
    ...heard().map(({ method = '' }) => method),
    ...routes,
    ...[...(await care('help')).matchAll(VERB)].map(([, verb]) => `care ${verb}`),
    ...(await facts.eventNames()).map((name) => `event ${name}`),
    ...listFiles('adapters/outside', '-webhook.ts').map((name) => `webhook ${name}`),
    ...listFiles('pages', '.html').map((name) => `page ${name}`),
    ...FHIR_BUNDLES.map(() => 'care export --fhir'),
  ])
}

describe('C34, C40: every door that the running service lists', () => {
  it('has a row for each fact, or says why no record goes out there; and no row is of a door that is gone', async () => {
    const pages = Object.keys(PAGE_ROWS).map((name) => `page ${name}`)
    const listed = [...Object.keys(ROWS), ...Object.keys(NO_RECORDS), ...pages]
    expect(listed.toSorted()).toEqual([...(await readDoors())].toSorted())
    for (const [door, { ask: _, ...row }] of Object.entries({ ...ROWS, ...PAGE_ROWS }))
      expect([door, Object.keys(row).toSorted()]).toEqual([door, FACTS.toSorted()])
  })

  it('what a writer can say is a fact with rows, or says why not', async () => {
    const { components } = JSON.parse(await facts.get('/openapi.json')) as {
      components: { schemas: Readonly<Record<string, { properties: object }>> }
    }
    const fields = Object.keys(components.schemas['WriteInput']?.properties ?? {})
    expect(Object.keys(FIELDS).toSorted()).toEqual(fields.toSorted())
  })

  it('what a read says beside its text is a fact with rows, or says why not', async () => {
    const said = new Set<string>()
    for (const fact of FACTS)
      for (const uri of [aboutFact(fact).uri, aboutFact(fact).asked]) {
        const read = await facts.call<Contents>('resources/read', { uri })
        for (const { _meta = {} } of read?.contents ?? [])
          Object.keys(_meta).forEach((key) => said.add(key))
      }
    expect(Object.keys(META)).toEqual(expect.arrayContaining([...said]))
    const everyFact = new Set(Object.values({ ...META, ...FIELDS }))
    // Of what was erased nothing can be said.
    expect(FACTS.filter((fact) => !everyFact.has(fact))).toEqual(['erased'])
  })
})

const cells = Object.entries(ROWS).flatMap(([door, row]) =>
  FACTS.map((fact) => ({ door, fact, ask: row.ask, shown: row[fact] })),
)

describe('C34, C37, C40', () => {
  it.each(cells)('$door of a record that is $fact: $shown', async ({ ask, fact, shown }) => {
    const about = aboutFact(fact)
    expect(findFault(await ask(facts, about), about, shown)).toBeUndefined()
  })
})
