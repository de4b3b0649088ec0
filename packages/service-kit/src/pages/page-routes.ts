/**
 * How pages are served: files that were read at start under their own paths, so that no request's path reaches the file
 * system, and pages with live figures; all of them under one strict policy.
 */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ServiceApp } from '../service-app.ts'
import { type Page, pageFrame } from './page-frame.ts'

/** One file as it is served. */
export type PageFile = {
  readonly paths: readonly string[]
  readonly contentType: string
  readonly body: string
  /** Strong validator of the body, quotes included. */
  readonly etag: string
}

/** Content types of what pages are made of. */
export const PAGE_TYPES = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
} as const

/** A file under its paths. */
export function pageFile(paths: readonly string[], contentType: string, body: string): PageFile {
  return { paths, contentType, body, etag: `"${hash('sha256', body, 'base64url')}"` }
}

/** A page in its frame; its path also says which entry of the navigation it is. */
export function framedPage(paths: readonly [string, ...string[]], page: Page): PageFile {
  return pageFile(paths, PAGE_TYPES.html, pageFrame({ path: paths[0], ...page }).toString())
}

/**
 * What pages may do, a Content-Security-Policy: run and load what their service serves, and talk to it. Nothing inline,
 * nothing of another origin, no text as markup. `more` adds directives, e.g. `media-src blob:`.
 */
export function pagePolicy(...more: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    ...more,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}

const PLAIN_POLICY = pagePolicy()
const SCHEMA = { exposeHeadRoute: true, schema: { hide: true } }

function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { file, policy }: { readonly file: PageFile; readonly policy: string },
): FastifyReply {
  void reply.headers({
    etag: file.etag,
    // Requested again each time, and answered 304 while nothing has changed.
    'cache-control': 'no-cache',
    'content-security-policy': policy,
    'referrer-policy': 'no-referrer',
  })
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
  return reply.type(file.contentType).send(file.body)
}

/** Serves files, each under its own paths and no other. A file at `/` takes the place of the kit's page. */
export function addPageRoutes(
  app: ServiceApp,
  files: readonly PageFile[],
  policy: string = PLAIN_POLICY,
): void {
  for (const file of files)
    for (const url of file.paths)
      app.get(url, SCHEMA, (request, reply) => sendFile(request, reply, { file, policy }))
}

/** Serves a page with live figures, which nothing caches. */
export function addLivePage(app: ServiceApp, url: string, page: () => Page | Promise<Page>): void {
  app.get(url, SCHEMA, async (_request, reply) =>
    reply
      .headers({
        'content-security-policy': PLAIN_POLICY,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      })
      .type(PAGE_TYPES.html)
      .send(pageFrame(await page()).toString()),
  )
}

function sharedFile(name: string, contentType: string): PageFile {
  const body = readFileSync(new URL(name, import.meta.url), 'utf8')
  return pageFile([`/pages/${name}`], contentType, body)
}

/** Serves the style sheet and the icon of all pages. */
export function addSharedFiles(app: ServiceApp): void {
  addPageRoutes(app, [
    sharedFile('style.css', PAGE_TYPES.css),
    sharedFile('icon.svg', PAGE_TYPES.svg),
  ])
}
