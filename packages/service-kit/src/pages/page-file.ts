/**
 * A file of a page, read once at start: nothing maps a request's path onto the file system. Scripts and style are files of
 * their own, so that the policy can forbid everything inline.
 */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'

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

/** The style that the pages of all services share: palette, type, frame, parts, controls; at `/pages/frame.css`. */
export function frameSheet(): PageFile {
  const body = readFileSync(new URL('frame.css', import.meta.url), 'utf8')
  return pageFile(['/pages/frame.css'], PAGE_TYPES.css, body)
}
