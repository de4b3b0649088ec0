/**
 * The files of the pages, read once at start: nothing maps a request's path onto the file system. Scripts and style are
 * files of their own, so that the policy can forbid everything inline.
 */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { GRADE_BANDS } from '@tallystick/odds'
import { type Html, html } from '@tallystick/service-kit'
import type { PagesOptions } from './page-options.ts'

/** One file as it is served. */
export type PageFile = {
  readonly paths: readonly string[]
  readonly contentType: string
  readonly body: string
  /** Strong validator of the body, quotes included. */
  readonly etag: string
}

/** Modules of the browser's side, served under `/pages/`. */
const SCRIPTS: readonly string[] = []

const HTML = 'text/html; charset=utf-8'

/** What the pages may do: run and load what this service serves, and talk to it. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
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

/** Reads the pages, their scripts, style and icon; `{{…}}` in a page becomes the value of that name. */
export function readPageFiles({ baseUrl }: PagesOptions): readonly PageFile[] {
  const values: Readonly<Record<string, Html>> = {
    baseUrl: html`${baseUrl}`,
    bands: html`${GRADE_BANDS.map(({ band }) => band).join(' ')}`,
  }
  const page = (name: string): string =>
    read(name).replaceAll(/\{\{(\w+)\}\}/g, (_whole, key: string) => String(values[key] ?? ''))
  return [
    file(['/', '/index.html'], HTML, page('home.html')),
    ...SCRIPTS.map((name) =>
      file([`/pages/${name}`], 'text/javascript; charset=utf-8', read(`browser/${name}`)),
    ),
  ]
}
