/** The environment of the authorization server. */
import {
  choiceField,
  DAY_SECONDS,
  databaseUrlField,
  httpUrlField,
  integerField,
  jsonField,
  secretField,
  sharedConfigFields,
  spanConfigFields,
  textField,
} from '@tallystick/service-kit'
import { z } from 'zod'

const isLoopbackName = (name: string): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(name)

/** Whether a URL is https, or http on this machine. */
function isProtected(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackName(url.hostname))
}

/** Whether a redirect stays on the person's own machine: any port of loopback (RFC 8252 §7.3). */
export function isLoopbackRedirect(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'http:' && isLoopbackName(url.hostname)
}

/** A scheme of a program's own: a domain of its maker, reversed (RFC 8252 §7.1). Systems use others for themselves. */
const OWN_SCHEME = /^[a-z]{2,}(?:\.[a-z0-9-]+)+:$/
/** Of programs that sign people in so, and whose schemes are no domains. */
const KNOWN_SCHEMES: ReadonlySet<string> = new Set(['cursor:', 'vscode:', 'vscode-insiders:'])

/** Whether a sign-in may end there (C50): https, loopback, or a program's own scheme; and the text says where. */
export function isRedirect(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.password !== '') return false
  if (/[\p{C}\p{Z}]/u.test(text)) return false
  const { protocol } = url
  return isProtected(text) || OWN_SCHEME.test(protocol) || KNOWN_SCHEMES.has(protocol)
}

/** Pages of their makers that hand the answer on to programs of the person's own machine, to the letter. */
const KNOWN_PAGES: ReadonlySet<string> = new Set([
  'https://insiders.vscode.dev/redirect',
  'https://vscode.dev/redirect',
  'https://www.cursor.com/agents/mcp/oauth/callback',
])

/** Cursor's, by its own scheme: its extension is the host, and older ones have a server's name in the path. */
const CURSOR_REDIRECT =
  /^cursor:\/\/anysphere\.cursor-(?:mcp|retrieval)\/oauth\/(?:[\w%.-]+\/)?callback$/

/** Whether a redirect leads to a program on the person's own machine: by loopback, or by what is known of the program (C41). */
export const isLocalRedirect = (text: string): boolean =>
  isLoopbackRedirect(text) || KNOWN_PAGES.has(text) || CURSOR_REDIRECT.test(text)

/** Longest name that a page shows, characters. */
const NAME_CHARACTERS_MAX = 64

/** Marks on one another that no script needs: they grow over the lines above and below. */
const MARKS_STACKED = /[\p{Mn}\p{Me}]{4}/u

/** Whether a page may show a program by this name: one line, something to see, and nothing that turns the text around it. */
export function isProgramName(text: string): boolean {
  if (text.length > NAME_CHARACTERS_MAX || MARKS_STACKED.test(text.normalize('NFC'))) return false
  // Joiners stay: Persian and Hindi need them.
  const seen = text.replace(/[\p{Default_Ignorable_Code_Point}\u2800]/gu, '')
  return /[\p{L}\p{N}\p{P}\p{S}]/u.test(seen) && !/[^\P{C}\u200c\u200d]|[^\P{Z} ]/u.test(text)
}

const scope = z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/)

const client = z.strictObject({
  client_id: z.string().min(1),
  client_name: z.string().refine(isProgramName).optional(),
  redirect_uris: z.array(z.string().refine(isRedirect)).min(1),
  client_secret: z.string().min(32).optional(),
})

/** A preconfigured program. */
export type KnownClient = z.output<typeof client>

const grants = z.array(
  z.strictObject({
    claim: z.string().min(1),
    value: z.string().min(1).optional(),
    scopes: z.array(scope).min(1),
  }),
)

/** Hosts whose metadata documents are allowed unless configured otherwise: ChatGPT's and Claude's. */
const KNOWN_DOCUMENTS = [
  'https://chatgpt.com/oauth/',
  'https://claude.ai/oauth/mcp-oauth-client-metadata',
]

const shared = sharedConfigFields({ port: 3004, baseUrl: 'http://localhost:3004' })

const fields = z.object({
  PORT: shared.PORT,
  HOST: shared.HOST,
  BASE_URL: shared.BASE_URL,
  RESOURCES: jsonField(z.array(z.url({ protocol: /^https?$/ })).min(1), {
    expected: 'a JSON array of http or https URLs, at least one',
  })
    .prefault('["http://localhost:3002/mcp","http://localhost:3002/mcp/2026-07-28"]')
    .describe('MCP addresses that tokens may be for; the first, where a host names none.'),
  SCOPES: jsonField(z.array(scope).min(1), { expected: 'a JSON array of scopes' })
    .prefault('["care.read.user","care.read.assistant","care.write"]')
    .describe('Scopes of those addresses.'),
  DEFAULT_SCOPE: textField('scopes, separated by spaces')
    .prefault('care.read.user')
    .describe('What a host gets that asks for no scope.'),
  USERS_PATH: textField('a path')
    .optional()
    .describe('File of the people who may sign in, kept with `tallystick-issuer add-user`.'),
  UPSTREAM_ISSUER: httpUrlField().optional().describe('OpenID provider whose people may sign in.'),
  UPSTREAM_CLIENT_ID: textField('a client id').optional().describe('This server’s name there.'),
  UPSTREAM_CLIENT_SECRET: secretField()
    .optional()
    .describe('Its secret there; without one, it is a public client.'),
  UPSTREAM_SCOPE: textField('scopes, separated by spaces')
    .prefault('openid profile')
    .describe('What it asks for there.'),
  UPSTREAM_GRANTS: jsonField(grants, {
    expected: 'a JSON array of `{claim, value, scopes}`, as docs/how-to/sign-in.md describes',
  })
    .prefault('[]')
    .describe('Which claims of the provider’s ID token give which scopes.'),
  CLIENTS: jsonField(z.array(client), {
    expected: 'a JSON array of `{client_id, client_name, redirect_uris, client_secret}`',
    isSecret: true,
  })
    .prefault('[]')
    .describe('Programs that are known beforehand.'),
  CLIENT_DOCUMENTS: jsonField(z.array(z.url({ protocol: /^https$/ })), {
    expected: 'a JSON array of https URLs',
    isGuard: true,
  })
    .prefault(JSON.stringify(KNOWN_DOCUMENTS))
    .describe(
      'Client metadata documents that are fetched; one that ends in `/` allows all below it.',
    ),
  REGISTRATION: choiceField(['off', 'loopback', 'any'], { isGuard: true })
    .prefault('off')
    .describe(
      'Whether unknown programs may register: `loopback`, those that run on the person’s own machine, VS Code and Cursor among them; `any`, every one.',
    ),
  ACCESS_TOKEN_SECONDS: integerField({ min: 60, max: DAY_SECONDS })
    .prefault('3600')
    .describe('How long an access token is valid, seconds.'),
  REFRESH_DAYS: integerField({ min: 1, max: 365 })
    .prefault('30')
    .describe('How long after a sign-in a host may renew its token, days.'),
  SESSION_SECONDS: integerField({ min: 0, max: 7 * DAY_SECONDS })
    .prefault('43200')
    .describe(
      'How long after a password a browser begins further sign-ins without one, seconds; 0 where people share devices.',
    ),
  KEYS_PATH: textField('a path')
    .prefault('.local/issuer-keys.json')
    .describe(
      'File of the signing keys, for its owner alone; made at the first start. Unused with DATABASE_URL.',
    ),
  DATABASE_PATH: textField('a path')
    .prefault('.local/issuer.db')
    .describe(
      'File of sign-ins, grants and refresh tokens, for its owner alone. With DATABASE_URL only the newest timeline of the server is kept beside it.',
    ),
  DATABASE_URL: databaseUrlField(),
  TRUST_PROXY_HOPS: integerField({ min: 0, max: 10 })
    .prefault('0')
    .describe('Proxies in front whose X-Forwarded-For is believed.'),
  METRICS_TOKEN: shared.METRICS_TOKEN,
  LOG_LEVEL: shared.LOG_LEVEL,
  ...spanConfigFields(),
})

type Fault = { readonly path: string[]; readonly message: string }

const fault = (name: string, message: string): Fault => ({ path: [name], message })

function findFaults(config: Partial<z.output<typeof fields>>): readonly Fault[] {
  const { BASE_URL: baseUrl = '', UPSTREAM_ISSUER: upstream } = config
  const hasPath = URL.parse(baseUrl)?.pathname !== '/'
  return [
    ...(hasPath || !isProtected(baseUrl)
      ? [fault('BASE_URL', 'an https origin without a path; http only on this machine')]
      : []),
    ...(config.USERS_PATH === undefined && upstream === undefined
      ? [fault('USERS_PATH', 'a path, since without it and UPSTREAM_ISSUER nobody could sign in')]
      : []),
    ...(upstream !== undefined && !isProtected(upstream)
      ? [fault('UPSTREAM_ISSUER', 'an https URL; http only on this machine')]
      : []),
    ...(upstream !== undefined && config.UPSTREAM_CLIENT_ID === undefined
      ? [fault('UPSTREAM_CLIENT_ID', 'a text, since UPSTREAM_ISSUER is set')]
      : []),
  ]
}

/** The whole environment. */
export const issuerConfigSchema = fields.superRefine(
  (config: Partial<z.output<typeof fields>>, context) => {
    for (const issue of findFaults(config)) context.addIssue({ code: 'custom', ...issue })
  },
  // Runs even when there are other problems, so that one message names them all.
  { when: () => true },
)

export type IssuerConfig = z.output<typeof issuerConfigSchema>
