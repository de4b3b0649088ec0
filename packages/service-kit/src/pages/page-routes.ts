/**
 * How pages are served: files read at start at fixed paths, so that no request path reaches the file system, and pages
 * with live figures, all under one strict policy.
 */
import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ServiceApp } from '../service-app.ts'
import { type Page, pageFrame } from './page-frame.ts'

/** One file as served. */
export type PageFile = {
  readonly paths: readonly string[]
  readonly contentType: string
  readonly body: string
  /** Strong validator of the body, including quotes. */
  readonly etag: string
  /** Whether its path carries a secret, which no log may name. */
  readonly hasSecretPath?: boolean
  /** For a path with parameters at which there may be nothing: what is sent then, with 404. */
  readonly missing?: {
    readonly body: string
    isMissing(parameters: Readonly<Record<string, string>>): Promise<boolean>
  }
}

/** Content types of the files that make up pages. */
export const PAGE_TYPES = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
} as const

/** A file and the paths it is served at. */
export function pageFile(paths: readonly string[], contentType: string, body: string): PageFile {
  return { paths, contentType, body, etag: `"${hash('sha256', body, 'base64url')}"` }
}

/** A page in its frame; its path also selects its entry in the navigation. */
export function framedPage(paths: readonly [string, ...string[]], page: Page): PageFile {
  return pageFile(paths, PAGE_TYPES.html, pageFrame({ path: paths[0], ...page }).toString())
}

/**
 * Pages may do this, as a Content-Security-Policy: load from and talk to their own service. Nothing inline, nothing from
 * another origin, no text parsed as markup. `connect` names other origins that scripts may ask; `hasForm` lets a form ask its own
 * service without a script; `more` adds directives, e.g. `media-src blob:`.
 */
export function pagePolicy(
  sources: {
    readonly connect?: readonly string[]
    readonly hasForm?: boolean
    readonly more?: readonly string[]
  } = {},
): string {
  const { connect = [], hasForm = false, more = [] } = sources
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    ["connect-src 'self'", ...connect].join(' '),
    ...more,
    "base-uri 'none'",
    `form-action ${hasForm ? "'self'" : "'none'"}`,
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}

const PLAIN_POLICY = pagePolicy()
const FORM_POLICY = pagePolicy({ hasForm: true })
const SCHEMA = { exposeHeadRoute: true, schema: { hide: true } }
const SECRET = { ...SCHEMA, config: { hasSecretPath: true } }

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { file, policy }: { readonly file: PageFile; readonly policy: string },
): Promise<FastifyReply> {
  void reply.headers({
    // Requested every time, and answered 304 while nothing has changed.
    'cache-control': 'no-cache',
    'content-security-policy': policy,
    'referrer-policy': 'no-referrer',
  })
  const { missing } = file
  if (await missing?.isMissing(request.params as Readonly<Record<string, string>>))
    return reply.code(404).type(file.contentType).send(missing?.body)
  void reply.header('etag', file.etag)
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
  return reply.type(file.contentType).send(file.body)
}

/** Serves files, each at its own paths only. A file at `/` replaces the kit's page. */
export function addPageRoutes(
  app: ServiceApp,
  files: readonly PageFile[],
  policy: string = PLAIN_POLICY,
): void {
  for (const file of files)
    for (const url of file.paths)
      app.get(url, file.hasSecretPath === true ? SECRET : SCHEMA, (request, reply) =>
        sendFile(request, reply, { file, policy }),
      )
}

/** Serves a page with live figures, never cached. */
export function addLivePage(
  app: ServiceApp,
  url: string,
  makePage: (request: FastifyRequest) => Page | Promise<Page>,
): void {
  app.get(url, SCHEMA, async (request, reply) => {
    const page = await makePage(request)
    return reply
      .code(page.status ?? 200)
      .headers({
        'content-security-policy': page.hasForm === true ? FORM_POLICY : PLAIN_POLICY,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      })
      .type(PAGE_TYPES.html)
      .send(pageFrame(page).toString())
  })
}
