// The kinds of attack on who speaks and who signs in, over every door of care and of the sign-in server: each kind has the
// tests that try it, and names the doors that it concerns. A new door fails here until somebody has said which kinds it has.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as sdkTypes from '@modelcontextprotocol/sdk/types.js'
import { expect, it } from 'vitest'
import { readSources } from '../../scripts/debt/source-files.ts'
import { root } from './spawned-stack.ts'

const CARE = 'services/care/src/'
const ISSUER = 'packages/issuer/src/'
const files = new Map(readSources(root, ['.ts']).map(({ path, text }) => [path, text] as const))

const readText = (path: string): string => {
  const text = files.get(path)
  if (text === undefined) throw new Error(`${path} is gone`)
  return text
}
const matches = (path: string, pattern: RegExp): readonly string[] =>
  [...readText(path).matchAll(pattern)].map(([, found = '']) => found)

/** The method whose requests a schema of the SDK reads. */
function methodBySchema(name: string): string {
  const schema: unknown = Reflect.get(sdkTypes, name)
  return (schema as typeof sdkTypes.CallToolRequestSchema).shape.method.value
}

/** Of a verb; `tallystick-issuer` is the program's own. */
const NAME = /^ +name: '(?!tallystick-)([a-z-]+)'/gm

/** Routes, methods, tools and commands, read from where they are defined. */
function everyDoor(): ReadonlySet<string> {
  const { paths } = JSON.parse(readFileSync(join(root, 'services/care/openapi.json'), 'utf8')) as {
    readonly paths: Readonly<Record<string, object>>
  }
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const methods = ['methods/dispatch', 'methods/event-methods', 'edges/modern-route'].flatMap(
    (file) => [
      ...matches(`${CARE}mcp/${file}.ts`, /'((?:[a-z]+\/)+[a-zA-Z]+)'/g),
      ...matches(`${CARE}mcp/${file}.ts`, /\bmethod\((\w+RequestSchema),/g).map(methodBySchema),
    ],
  )
  const inputs = /TOOL_INPUTS = \{\n(.*?)\n\}/s.exec(readText(`${CARE}wire/mcp.ts`))?.[1] ?? ''
  const tools = [...inputs.matchAll(/^ {2}([a-z_]+):/gm)].map(([, name]) => `tool ${name}`)
  const verbs = [...files.keys()].filter((path) =>
    /^services\/care\/src\/command\/\w.*-verbs?\.ts$/.test(path),
  )
  const commands = [...verbs, 'packages/service-kit/src/database-verbs.ts']
    .flatMap((path) => matches(path, NAME))
    .map((name) => `care ${name}`)
  const admin = matches(`${ISSUER}run-admin.ts`, NAME).map((name) => `issuer ${name}`)
  const pages = [
    ...matches(`${ISSUER}routes/interaction-routes.ts`, /app\.(?:get|post)\('([^']+)'/g),
    ...matches(`${ISSUER}routes/provider-routes.ts`, /^ {2}'(\/[^']*)',$/gm),
  ].map((path) => `issuer ${path}`)
  return new Set([...routes, ...methods, ...tools, ...commands, ...admin, ...pages])
}

type Kind = {
  readonly tests: readonly (readonly [path: string, title: string])[]
  readonly doors: readonly string[]
}

const RECORDS = [
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
  'prompts/list',
  'prompts/get',
  'tools/list',
  'tools/call',
  'tool list_records',
  'tool read_record',
  'tool whats_changed',
  'tool changes_since',
  'tool search',
  'tool fetch',
]
const VERIFY = ['GET /verify', 'GET /verify/export', 'GET /verify/checkpoint', 'GET /verify/proof']
const LISTS = [
  'care audit',
  'care reads',
  'care events',
  'care erasures',
  'care frees',
  'care revocations',
]
const MCP = ['POST /mcp', 'GET /mcp', 'DELETE /mcp', 'POST /mcp/2026-07-28']

const KINDS: Readonly<Record<string, Kind>> = {
  'text of others inside delimited text': {
    tests: [
      [
        `${CARE}mcp/text-of-others.test.ts`,
        'whatever the values, label and names are, they are read back from every door',
      ],
      [
        `${CARE}mcp/text-of-others.test.ts`,
        'each method, tool and prompt is among the doors of this test',
      ],
    ],
    doors: [...RECORDS, ...LISTS, 'care export'],
  },
  'shown against checked identity': {
    tests: [
      [
        `${CARE}routes/clinic-day.test.ts`,
        'attack: a writer with a token signs with another’s name',
      ],
      [
        `${ISSUER}strangers.test.ts`,
        'names of people and patients cannot turn the text around them',
      ],
    ],
    doors: [
      'POST /write',
      'GET /principal',
      'care token',
      'issuer /interaction/:uid',
      'issuer /interaction/:uid/consent',
    ],
  },
  'a right without the reading side’s dimension': {
    tests: [
      [
        `${CARE}routes/clinic-day.test.ts`,
        'attack: a relative plants a rule for the assistant, and closes a topic to the clinician',
      ],
      [
        `${CARE}domain/scopes.test.ts`,
        'is an answer on %s, never a fault, and shows nothing of a record',
      ],
      [
        `${CARE}routes/clinic-privacy.test.ts`,
        'attack: a token that has no right here looks for names: %s',
      ],
    ],
    doors: ['POST /write', 'GET /unheard', 'GET /reads', ...VERIFY, ...MCP, 'care free'],
  },
  'bounded stores that strangers fill': {
    tests: [
      [
        `${ISSUER}strangers.test.ts`,
        'a thousand registrations from fifty addresses of one /64 are twenty, and the honest program lives on',
      ],
      [
        `${ISSUER}strangers.test.ts`,
        'a state of 14 kB is refused, in the address and in a form, and nothing is stored',
      ],
      [
        `${CARE}mcp/sessions/session-life.test.ts`,
        'per sub: the next session is 429, until one has ended',
      ],
      [
        `${CARE}mcp/methods/event-methods.test.ts`,
        'by many challenges: the eleventh within a minute is refused',
      ],
    ],
    doors: [
      'issuer /reg',
      'issuer /auth',
      'issuer /auth/:uid',
      ...MCP,
      'resources/subscribe',
      'resources/unsubscribe',
      'logging/setLevel',
      'subscriptions/listen',
      'events/subscribe',
    ],
  },
  'the life of credentials': {
    tests: [
      [`${ISSUER}credentials-life.test.ts`, '%s ends refresh tokens and browser sessions'],
      [
        `${CARE}command/revoke-verb.test.ts`,
        'all its tokens until now are refused, its stream ends, and a newer token is good',
      ],
    ],
    doors: [
      'care revoke',
      'care token',
      'issuer add-user',
      'issuer rotate-keys',
      'issuer /token',
      'issuer /token/revocation',
      'issuer /jwks',
      'issuer /interaction/:uid/login',
    ],
  },
  'library defaults that fetch, consume or skip': {
    tests: [
      [
        `${ISSUER}clients-and-upstream.test.ts`,
        'its own key signs a person in, and a foreign key nobody',
      ],
      [
        `${ISSUER}sign-in.test.ts`,
        'discovery: S256 alone, code alone, iss in answers, no registration of strangers from elsewhere',
      ],
    ],
    doors: [
      'issuer /reg',
      'issuer /token',
      'issuer /.well-known/openid-configuration',
      'issuer /.well-known/oauth-authorization-server',
      'issuer /upstream/callback',
      'issuer /interaction/:uid/upstream',
      'issuer /interaction/:uid/upstream/begin',
    ],
  },
  'an old channel with a newer authority': {
    tests: [
      [
        `${CARE}mcp/sessions/event-stream.test.ts`,
        'C48: a stream shows what its session and its own token may see',
      ],
      [`${CARE}domain/event-verdict.test.ts`, 'nothing goes out after its time'],
    ],
    doors: [
      'GET /mcp',
      'resources/subscribe',
      'subscriptions/listen',
      'events/subscribe',
      'events/unsubscribe',
      'events/list',
    ],
  },
  'limits on what is shared or plentiful': {
    tests: [
      [
        `${ISSUER}strangers.test.ts`,
        'the server says so at start, and thirty wrong passwords of one do not keep the others out',
      ],
      [
        `${CARE}routes/kept-verdict.test.ts`,
        'who has a token does not wait behind visitors, however long their replay takes',
      ],
    ],
    doors: ['issuer /interaction/:uid/login', 'issuer /auth', 'GET /verify'],
  },
  'errors as oracles': {
    tests: [
      [
        `${CARE}routes/write-refusals.test.ts`,
        'all refusals are identical, byte for byte and header for header',
      ],
      [
        `${CARE}routes/clinic-day.test.ts`,
        'attack: a writer who may not read learns where internal records are, and at which version',
      ],
      [
        `${CARE}mcp/partition.test.ts`,
        'in lists on any page, reads, completions, prompts, tools and error texts: %s',
      ],
    ],
    doors: ['POST /write', ...VERIFY, ...RECORDS, 'resources/subscribe', 'server/discover'],
  },
  'second interpreters': {
    tests: [
      [
        `${CARE}domain/spoken-form.test.ts`,
        'what turns, controls or spells without being seen is not spoken',
      ],
    ],
    doors: ['resources/read', ...LISTS],
  },
  'success for what matches nothing': {
    tests: [
      [`${CARE}command/revoke-verb.test.ts`, 'a sub that was never here fails; --unseen insists'],
      [
        `${CARE}mcp/freed-topic.test.ts`,
        'C47: a freed chain stays provable under its number, for its audience alone, and who freed it is listed',
      ],
      [
        `${ISSUER}clients-and-upstream.test.ts`,
        'C49: sign-out up:… ends a person’s sign-ins, fails for nobody, and lets the person come back',
      ],
    ],
    doors: [
      'care revoke',
      'care erase',
      'care free',
      'issuer remove-user',
      'issuer sign-out',
      'issuer drop-key',
    ],
  },
}

/** What none of the kinds concerns: nobody's text, nobody's rights, and for the operator alone or the same for all. */
const OF_NO_KIND = [
  'GET /health',
  'GET /ready',
  'GET /metrics',
  'GET /verify/witnesses',
  'GET /.well-known/oauth-protected-resource',
  'GET /.well-known/oauth-protected-resource/mcp',
  'GET /.well-known/oauth-protected-resource/mcp/2026-07-28',
  'care verify',
  'care backup',
  'care accept-backup',
  'care import',
  'care backup-keys',
  'care restore-keys',
  'care migrate',
  'care move',
]

it('every door of care and of the sign-in server is among those of some kind, and every kind’s doors are there', () => {
  const doors = everyDoor()
  expect(doors.size).toBeGreaterThan(70)
  const named = new Set([...Object.values(KINDS).flatMap((kind) => kind.doors), ...OF_NO_KIND])
  expect([...doors].filter((door) => !named.has(door))).toEqual([])
  expect([...named].filter((door) => !doors.has(door))).toEqual([])
})

it.each(Object.entries(KINDS))('%s: its tests are there', (_, { tests }) => {
  expect(tests.filter(([path, title]) => !readText(path).includes(`${title}'`))).toEqual([])
})
