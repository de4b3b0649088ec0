// What a reader must hear of a record (superseded, withdrawn, erased, stale, its age, its language) at every door through which
// records go out. Doors are read from the running service: a tool, prompt, method, route, command, kind of resource, notification or
// event that is added fails here until its row says what it shows of each fact; a fact that is added fails at every row. What a
// writer can say is mapped to facts as well, so that a new field of a write is a fact, or says why not.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FHIR_BUNDLES } from './domain/fhir-bundle.ts'
import { RECORD_METHODS } from './mcp/dispatch.ts'
import {
  type About,
  aboutFact,
  FACTS,
  type Fact,
  type Facts,
  showCard,
  startFacts,
} from './testing/facts.fixture.ts'
import { RECORD_REVISED } from './wire/events.ts'

/**
 * What a door shows of a record: text that fits a pattern, which it must wherever the value is; its name and never the value;
 * or nothing at all.
 */
type Shown = RegExp | 'name alone' | 'nothing'
type Row = { readonly ask: (facts: Facts, about: About) => Promise<string> } & Readonly<
  Record<Fact, Shown>
>

const json = (answer: object | undefined): string =>
  answer === undefined ? 'refused' : JSON.stringify(answer)
const byMethod =
  (method: string, params: (about: About) => object = () => ({})): Row['ask'] =>
  async ({ call }, about) =>
    json(await call(method, params(about)))
const byTool = (name: string, given: (about: About) => object): Row['ask'] =>
  byMethod('tools/call', (about) => ({ name, arguments: given(about) }))
const byPrompt = (name: string): Row['ask'] =>
  byMethod('prompts/get', ({ patient }) => ({ name, arguments: { patient } }))
const byRoute =
  (url: (about: About) => string): Row['ask'] =>
  ({ get }, about) =>
    get(url(about))

const uriIn = ({ asked }: About): string => encodeURIComponent(asked)
const chainIn = ({ uri }: About): string => encodeURIComponent(uri)

const WITHDRAWN = /This record was withdrawn\. It was entered in error\./
/** With its age, whatever is said of it. */
const READ = {
  superseded: /Version 1 was replaced by version 2\. It is now “Take two sachets\.”/,
  withdrawn: WITHDRAWN,
  erased: 'nothing',
  stale: /\[STALE — last changed 2 days ago by Dr Osei; say this age aloud\]/,
  age: /\[changed 2d ago by Dr Osei\]/,
  language: /\[zuletzt geändert vorgestern von Dr Osei\].*"language":"de"/,
} as const
const CHANGED = {
  ...READ,
  superseded: /Please disregard “Take one sachet\.” It is now “Take two sachets\.”/,
  language: /"language":"de"/,
} as const
const LISTED = {
  superseded: 'name alone',
  withdrawn: 'nothing',
  erased: 'nothing',
  stale: 'name alone',
  age: 'name alone',
  language: 'name alone',
} as const
/** Whoever only learns that there is a chain learns nothing that it says, and of every chain. */
const NAMED = {
  superseded: 'name alone',
  withdrawn: 'name alone',
  erased: 'name alone',
  stale: 'name alone',
  age: 'name alone',
  language: 'name alone',
} as const
const NONE = {
  ...NAMED,
  superseded: 'nothing',
  withdrawn: 'nothing',
  erased: 'nothing',
  stale: 'nothing',
  age: 'nothing',
  language: 'nothing',
} as const

/** Whole, for who may read it. */
const EXPORTED = {
  superseded: /Take one sachet\..*Take two sachets\./s,
  withdrawn: /\\"status\\":\\"entered-in-error\\"/,
  erased: 'name alone',
  stale: /\\"staleAfter\\"/,
  age: /\\"writtenAt\\"/,
  language: /\\"language\\":\\"de\\"/,
} as const

const heardOf =
  (method: string): Row['ask'] =>
  async ({ heard }, { uri }) =>
    JSON.stringify(
      heard().filter(
        (message) => message.method === method && JSON.stringify(message).includes(`"${uri}"`),
      ),
    )

type Contents = {
  readonly contents: readonly {
    readonly text?: string
    readonly blob?: string
    readonly _meta?: object
  }[]
}

/** What a card shows of a tool's answer. */
const onCard =
  (uri: string, name: string, given: (about: About) => object): Row['ask'] =>
  async ({ call }, about) => {
    const page = await call<Contents>('resources/read', { uri })
    const params = { name, arguments: given(about) }
    const answer = await call<{ readonly structuredContent?: object }>('tools/call', params)
    return showCard(page?.contents[0]?.text ?? '', answer?.structuredContent)
  }
const ON_CARD = {
  withdrawn: WITHDRAWN,
  erased: 'nothing',
  stale: /Past its review date: last changed 2 days ago by Dr Osei\./,
  age: /Changed 2 days ago by Dr Osei\./,
  language: /Geändert vorgestern von Dr Osei\./,
} as const

const ROWS: Readonly<Record<string, Row>> = {
  'resources/read text/plain': {
    ask: byMethod('resources/read', ({ asked }) => ({ uri: asked })),
    ...READ,
  },
  'resources/read audio/wav': {
    ask: async ({ call }, { asked, uri }) => {
      const audio = `${asked === uri ? `${uri}/2` : asked}/audio`
      const read = await call<Contents>('resources/read', { uri: audio })
      const [content] = read?.contents ?? []
      if (content === undefined) return 'refused'
      const said = Buffer.from(content.blob ?? '', 'base64').toString()
      return said + JSON.stringify({ ...content._meta, value: undefined })
    },
    ...READ,
    stale: /Please note: this was last changed 2 days ago, by doctor Osei\./,
    // A fresh record is said as it is.
    age: /No sugar in tea\./,
    language: /Zehn Tropfen\..*"language":"de"/,
  },
  'resources/read text/html+skybridge': {
    ask: onCard('ui://care/echo', 'read_record', ({ asked }) => ({ uri: asked })),
    superseded: READ.superseded,
    ...ON_CARD,
  },
  'resources/read text/html;profile=mcp-app': {
    ask: onCard('ui://care/echo-app', 'whats_changed', ({ patient }) => ({ patient })),
    superseded: CHANGED.superseded,
    ...ON_CARD,
  },
  'resources/list': { ask: byMethod('resources/list'), ...LISTED },
  'resources/templates/list': { ask: byMethod('resources/templates/list'), ...NONE },
  'prompts/list': { ask: byMethod('prompts/list'), ...NONE },
  'tools/list': { ask: byMethod('tools/list'), ...NONE },
  'completion/complete': {
    ask: byMethod('completion/complete', ({ patient }) => ({
      ref: { type: 'ref/resource', uri: 'care://{patient}/{domain}' },
      argument: { name: 'domain', value: '' },
      context: { arguments: { patient } },
    })),
    ...LISTED,
  },
  'tool list_records': { ask: byTool('list_records', () => ({})), ...LISTED },
  'tool read_record': { ask: byTool('read_record', ({ asked }) => ({ uri: asked })), ...READ },
  'tool fetch': {
    ask: byTool('fetch', ({ asked }) => ({ id: asked })),
    ...READ,
    language: /\[zuletzt geändert vorgestern.*language/,
  },
  'tool search': {
    ask: byTool('search', ({ domain, value }) => ({ query: `${domain} ${value}` })),
    ...LISTED,
  },
  'tool whats_changed': {
    ask: byTool('whats_changed', ({ patient }) => ({ patient })),
    ...CHANGED,
  },
  'tool changes_since': { ask: byTool('changes_since', () => ({})), ...CHANGED },
  'prompt brief_carer': {
    ask: byPrompt('brief_carer'),
    ...READ,
    superseded: /^(?!.*Take one sachet).*Take two sachets\./s,
    withdrawn: 'nothing',
    language: /\[zuletzt geändert vorgestern/,
  },
  'prompt whats_changed': {
    ask: byPrompt('whats_changed'),
    ...CHANGED,
    // Inside the text is JSON, whose marks are escaped.
    stale: /Weighs 71 kg\..*writtenAt/s,
    age: /No sugar in tea\..*writtenAt/s,
    language: /language\\": \\"de/,
  },
  'notifications/resources/updated': { ask: heardOf('notifications/resources/updated'), ...NAMED },
  'notifications/message': { ask: heardOf('notifications/message'), ...NAMED },
  'notifications/resources/list_changed': {
    ask: heardOf('notifications/resources/list_changed'),
    ...NONE,
  },
  'event care.record.revised': {
    ask: ({ events }, about) => events(about),
    ...NAMED,
    superseded: /"version":2,.*"retracts":true/,
    withdrawn: /"version":2,.*"retracts":true/,
    erased: 'nothing',
    language: /"language":"de"/,
  },
  'care export --fhir': {
    ask: ({ fhir }, about) => fhir(about),
    superseded: /"status":"superseded"/,
    withdrawn: /"status":"entered-in-error".*"status":"entered-in-error".*"code":"NULLIFY"/s,
    erased: 'nothing',
    stale: /stale-after","valueString":"2026-11-21/,
    age: /"date":"2026-11-21/,
    language: /"language":"de"/,
  },
  'GET /verify': {
    ask: byRoute((about) => `/verify?uri=${chainIn(about)}`),
    ...NAMED,
    erased: /"erased":2/,
  },
  'GET /verify/export': {
    ask: byRoute((about) => `/verify/export?uri=${chainIn(about)}`),
    ...EXPORTED,
    erased: 'nothing',
  },
  'GET /verify/proof': {
    ask: byRoute((about) => `/verify/proof?size=1&uri=${uriIn(about)}`),
    ...NONE,
  },
  'GET /unheard': { ask: byRoute(() => '/unheard'), ...NONE },
  'GET /reads': {
    ask: async ({ get, noteRead }, about) => {
      await noteRead(about)
      return get(`/reads?patient=${about.patient}&limit=100`)
    },
    ...NAMED,
  },
  'care export': {
    ask: ({ care }, { uri }) => care('export', '--uri', uri),
    ...EXPORTED,
  },
  'care reads': {
    ask: async ({ care, noteRead }, about) => {
      await noteRead(about)
      return care('reads', '--uri', about.uri)
    },
    ...NAMED,
  },
  'care audit': { ask: ({ care }) => care('audit', '--limit', '100'), ...NAMED },
}

/** Doors of the service's lists through which no record goes out, with the reason. */
const NO_RECORDS: Readonly<Record<string, string>> = {
  'resources/read': 'by kind of resource, above',
  'prompts/get': 'by prompt, above',
  'tools/call': 'by tool, above',
  'POST /mcp': 'by method, above',
  'GET /mcp': 'by notification, above',
  'DELETE /mcp': 'ends a session',
  'POST /mcp/2026-07-28': 'the same methods',
  'POST /write': 'answers with the name of what was written',
  'GET /principal': 'whose a token is',
  'GET /verify/checkpoint': 'a signed size and root',
  'GET /verify/witnesses': 'signed sizes and roots',
  'GET /.well-known/oauth-protected-resource': 'metadata',
  'GET /.well-known/oauth-protected-resource/mcp': 'metadata',
  'GET /.well-known/oauth-protected-resource/mcp/2026-07-28': 'metadata',
  'GET /health': 'counts',
  'GET /ready': 'the state of the service',
  'GET /metrics': 'counts',
  'care verify': 'verdicts on an export',
  'care import': 'prints sizes',
  'care events': 'subscriptions',
  'care token': 'a token',
  'care revoke': 'a token',
  'care revocations': 'tokens',
  'care backup': 'prints a size',
  'care accept-backup': 'prints a size',
  'care erase': 'prints a count',
  'care erasures': 'names, with who erased them',
  'care free': 'prints a count',
  'care frees': 'names, with who freed them',
  'care backup-keys': 'prints a count',
  'care restore-keys': 'prints a count',
  'care migrate': 'prints a state',
  'care move': 'prints sizes',
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

/** The service's own lists of doors. */
async function readDoors(): Promise<ReadonlySet<string>> {
  const { call, capabilities, care, get, heard } = facts
  const list = async (what: string) => (await call<Listed>(`${what}/list`))?.[what] ?? []
  const { paths } = JSON.parse(await get('/openapi.json')) as { readonly paths: object }
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const told = Object.keys(capabilities).flatMap((capability) => TOLD[capability] ?? [])
  return new Set([
    ...Object.keys(RECORD_METHODS),
    ...(await list('resources')).map(({ mimeType }) => `resources/read ${mimeType}`),
    ...(await list('tools')).map(({ name }) => `tool ${name}`),
    ...(await list('prompts')).map(({ name }) => `prompt ${name}`),
    ...told.map((name) => `notifications/${name}`),
    ...heard().map(({ method = '' }) => method),
    ...routes,
    ...[...(await care('help')).matchAll(VERB)].map(([, verb]) => `care ${verb}`),
    `event ${RECORD_REVISED.name}`,
    ...FHIR_BUNDLES.map(() => 'care export --fhir'),
  ])
}

describe('C34, C40: every door that the running service lists', () => {
  it('has a row for each fact, or says why no record goes out there; and no row is of a door that is gone', async () => {
    const listed = [...Object.keys(ROWS), ...Object.keys(NO_RECORDS)]
    expect(listed.toSorted()).toEqual([...(await readDoors())].toSorted())
    for (const [door, { ask: _, ...row }] of Object.entries(ROWS))
      expect([door, Object.keys(row).toSorted()]).toEqual([door, FACTS.toSorted()])
  })

  it('what a writer can say is a fact with rows, or says why not', async () => {
    const { components } = JSON.parse(await facts.get('/openapi.json')) as {
      components: { schemas: Readonly<Record<string, { properties: object }>> }
    }
    const fields = Object.keys(components.schemas['WriteInput']?.properties ?? {})
    expect(Object.keys(FIELDS).toSorted()).toEqual(fields.toSorted())
  })
})

const cells = Object.entries(ROWS).flatMap(([door, row]) =>
  FACTS.map((fact) => ({ door, fact, ask: row.ask, shown: row[fact] })),
)

/** What a door shows of a record against its row; undefined if that is as it should be. */
function findFault(text: string, { domain, value }: About, shown: Shown): string | undefined {
  if (shown instanceof RegExp) return shown.test(text) ? undefined : text
  const named = text.includes(domain) ? 'name alone' : 'nothing'
  return !text.includes(value) && named === shown ? undefined : text
}

describe('C34, C37, C40', () => {
  it.each(cells)('$door of a record that is $fact: $shown', async ({ ask, fact, shown }) => {
    const about = aboutFact(fact)
    expect(findFault(await ask(facts, about), about, shown)).toBeUndefined()
  })
})
