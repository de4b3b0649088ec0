/**
 * The files of the pages, read once at start: nothing maps a request's path onto the file system. Scripts and style are
 * files of their own, so that the policy can forbid everything inline.
 */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { html } from '@tallystick/service-kit'

/** One file as it is served. */
export type PageFile = {
  readonly paths: readonly string[]
  readonly contentType: string
  readonly body: string
  /** Strong validator of the body, quotes included. */
  readonly etag: string
}

/** Modules of the browser's side, served under `/pages/`. */
const SCRIPTS = [
  'clinician-preview.js',
  'clinician-view.js',
  'clinician.js',
  'echo-view.js',
  'echo.js',
  'event-stream.js',
  'follow-records.js',
  'keep-listening.js',
  'mcp-session.js',
  'overview-facts.js',
  'overview.js',
  'page-element.js',
  'read-record.js',
  'record-uri.js',
  'retraction.js',
  'send-write.js',
  'sign-write.js',
  'speaker.js',
  'take-fragment.js',
  'write-fields.js',
] as const

const HTML = 'text/html; charset=utf-8'

/** What the pages may do: run and load what this service serves, talk to it, play sounds that they made. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  'media-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')

const file = (paths: readonly string[], contentType: string, body: string): PageFile => ({
  paths,
  contentType,
  body,
  etag: `"${hash('sha256', body, 'base64url')}"`,
})

/** What a page says of its service. */
export type PagePlaces = {
  /** The service's address without a trailing slash, for the requests to copy. */
  readonly baseUrl: string
  /** The name in its headers and `_meta` keys. */
  readonly serviceName: string
}

/** Reads the three pages, their scripts, style and icon; `{{…}}` in a page becomes the place of that name. */
export function readPageFiles({ baseUrl, serviceName }: PagePlaces): readonly PageFile[] {
  const page = (name: string): string =>
    read(name)
      .replaceAll('{{baseUrl}}', () => html`${baseUrl}`.toString())
      .replaceAll('{{serviceName}}', () => html`${serviceName}`.toString())
  return [
    file(['/', '/index.html'], HTML, page('overview.html')),
    file(['/clinician.html'], HTML, page('clinician.html')),
    file(['/echo.html'], HTML, page('echo.html')),
    file(['/pages/care.css'], 'text/css; charset=utf-8', read('browser/care.css')),
    file(['/pages/icon.svg'], 'image/svg+xml', read('browser/icon.svg')),
    ...SCRIPTS.map((name) =>
      file([`/pages/${name}`], 'text/javascript; charset=utf-8', read(`browser/${name}`)),
    ),
  ]
}
