/**
 * The documents and files that the service serves about itself, read once at start: a fixed list, so that no request
 * names a file. All of them are part of the repository; one that is missing keeps the service from starting.
 */
import { readFileSync } from 'node:fs'
import { kitLinks, type Page } from '@tallystick/service-kit'
import { renderMarkdown } from './render-markdown.ts'

/** A document as a page under `/doc/<name>`. */
export type ServedDocument = {
  readonly name: string
  readonly page: Pick<Page, 'title' | 'lead' | 'body'>
}

/** A file that is served as it is. */
export type FixedFile = {
  readonly path: string
  readonly contentType: string
  readonly body: string
}

const DOCUMENTS = [
  { name: 'readme', file: '../../README.md' },
  { name: 'verify', file: '../../doc/verify.md' },
  { name: 'security', file: '../../doc/security.md' },
  { name: 'architecture', file: '../../doc/architecture.md' },
] as const

const TEXT = 'text/plain; charset=utf-8'
const FILES = [
  { path: '/LICENSE', file: '../../../../LICENSE', contentType: TEXT },
  {
    path: '/CHANGELOG.md',
    file: '../../../../CHANGELOG.md',
    contentType: 'text/markdown; charset=utf-8',
  },
  {
    path: '/vectors/chain.json',
    file: '../../../../packages/hashchain/vectors/chain.json',
    contentType: 'application/json; charset=utf-8',
  },
] as const

/** What a document's page ends with. */
export const documentLinks: NonNullable<Page['links']> = [
  ...DOCUMENTS.map(({ name }) => ({ label: name, href: `/doc/${name}` })),
  ...kitLinks,
]

const read = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8')

/** Reads the list. Throws where a file of it is missing. */
export function readServedDocuments(): {
  readonly documents: readonly ServedDocument[]
  readonly files: readonly FixedFile[]
} {
  return {
    documents: DOCUMENTS.map(({ name, file }) => ({ name, page: renderMarkdown(read(file)) })),
    files: FILES.map(({ path, file, contentType }) => ({ path, contentType, body: read(file) })),
  }
}
