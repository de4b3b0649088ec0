// Every door through which records go out, and what it shows of each fact; or why none goes out there.
import { type About, type Fact, type Facts, showCard } from './facts.fixture.ts'

/**
 * What a door shows of a record: text that fits a pattern, which it must wherever the value is; its name and never the value;
 * or nothing at all.
 */
export type Shown = RegExp | 'name alone' | 'nothing'
type Row = { readonly ask: (facts: Facts, about: About) => Promise<string> } & Readonly<
  Record<Fact, Shown>
>

const json = (answer: object | undefined): string =>
  answer === undefined ? 'refused' : JSON.stringify(answer)
const byMethod =
  (method: string, params: (about: About) => object = () => ({})): Row['ask'] =>
  async ({ call }, about) =>
    json(await call(method, params(about)))
const byTool = (name: string, input: (about: About) => object): Row['ask'] =>
  byMethod('tools/call', (about) => ({ name, arguments: input(about) }))
const byPrompt = (name: string): Row['ask'] =>
  byMethod('prompts/get', ({ patient }) => ({ name, arguments: { patient } }))
const byRoute =
  (url: (about: About) => string): Row['ask'] =>
  ({ get }, about) =>
    get(url(about))

const uriIn = ({ asked: requested }: About): string => encodeURIComponent(requested)
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

const listHeard =
  (method: string): Row['ask'] =>
  async ({ heard }, { uri }) =>
    JSON.stringify(
      heard().filter(
        (message) => message.method === method && JSON.stringify(message).includes(`"${uri}"`),
      ),
    )

export type Contents = {
  readonly contents: readonly {
    readonly text?: string
    readonly blob?: string
    readonly _meta?: object
  }[]
}

/** What a card shows of a tool's answer. */
const onCard =
  (uri: string, name: string, passed: (about: About) => object): Row['ask'] =>
  async ({ call }, about) => {
    const page = await call<Contents>('resources/read', { uri })
    const params = { name, arguments: passed(about) }
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

export const ROWS: Readonly<Record<string, Row>> = {
  'resources/read text/plain': {
    ask: byMethod('resources/read', ({ asked: requests }) => ({ uri: requests })),
    ...READ,
  },
  'resources/read audio/wav': {
    ask: async ({ call }, { asked: question, uri }) => {
      const audio = `${question === uri ? `${uri}/2` : question}/audio`
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
  'notifications/resources/updated': {
    ask: listHeard('notifications/resources/updated'),
    ...NAMED,
  },
  'notifications/message': { ask: listHeard('notifications/message'), ...NAMED },
  'notifications/resources/list_changed': {
    ask: listHeard('notifications/resources/list_changed'),
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
  // To whoever runs the service: which record nobody has heard of, and in which language it is.
  'webhook alert': {
    ask: ({ alert }, about) => alert(about),
    ...NAMED,
    erased: 'nothing',
    superseded: /"version":2/,
    withdrawn: /"version":2/,
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
export const NO_RECORDS: Readonly<Record<string, string>> = {
  'resources/read': 'by kind of resource, above',
  'prompts/get': 'by prompt, above',
  'tools/call': 'by tool, above',
  'POST /mcp': 'by method, above',
  'GET /mcp': 'by notification, above',
  'DELETE /mcp': 'ends a session',
  'POST /mcp/2026-07-28': 'the same methods, and events, above',
  'webhook event': 'by type of event, above',
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

/** What a door shows of a record against its row; undefined if that is as it should be. */
export function findFault(
  text: string,
  { domain, value }: About,
  shown: Shown,
): string | undefined {
  if (shown instanceof RegExp) return shown.test(text) ? undefined : text
  const named = text.includes(domain) ? 'name alone' : 'nothing'
  return !text.includes(value) && named === shown ? undefined : text
}
