/** The files of care's pages. */
import { readFileSync } from 'node:fs'
import { html } from '@tallystick/service-kit'
import {
  frameSheet,
  PAGE_TYPES,
  type PageFile,
  pageFile,
  pagePolicy,
} from '@tallystick/service-kit/pages'

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

/** What the pages may do: what those of all services may, and play sounds that they made. */
export const PAGE_POLICY = pagePolicy('media-src blob:')

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8')

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
    pageFile(['/', '/index.html'], PAGE_TYPES.html, page('overview.html')),
    pageFile(['/clinician.html'], PAGE_TYPES.html, page('clinician.html')),
    pageFile(['/echo.html'], PAGE_TYPES.html, page('echo.html')),
    frameSheet(),
    pageFile(['/pages/care.css'], PAGE_TYPES.css, read('browser/care.css')),
    pageFile(['/pages/icon.svg'], PAGE_TYPES.svg, read('browser/icon.svg')),
    ...SCRIPTS.map((name) => pageFile([`/pages/${name}`], PAGE_TYPES.js, read(`browser/${name}`))),
  ]
}
