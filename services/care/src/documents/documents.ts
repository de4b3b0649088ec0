/**
 * The documents and files that the service serves about itself, read once at start. The list is fixed, so no request
 * names a file. All of them are in the repository; if one is missing, the service does not start.
 */
import { readFileSync } from 'node:fs'
import {
  framedPage,
  Html,
  html,
  kitLinks,
  type Page,
  type PageFile,
  pageFile,
} from '@tallystick/service-kit/pages'
import { Marked, type Token } from 'marked'

const DOCUMENTS = [
  { path: '/doc/readme', label: 'Read me', file: '../../README.md' },
  { path: '/doc/verify', label: 'How verification works', file: '../../doc/verify.md' },
  { path: '/doc/security', label: 'Security', file: '../../doc/security.md' },
  { path: '/doc/architecture', label: 'Architecture', file: '../../doc/architecture.md' },
] as const

const FILES = [
  { path: '/LICENSE', file: 'LICENSE', contentType: 'text/plain; charset=utf-8' },
  { path: '/CHANGELOG.md', file: 'CHANGELOG.md', contentType: 'text/markdown; charset=utf-8' },
  {
    path: '/vectors/chain.json',
    file: 'packages/hashchain/vectors/chain.json',
    contentType: 'application/json; charset=utf-8',
  },
] as const

/** Link targets that work where the document is served: on the web, or this service's own paths. */
const SERVED_TARGET = /^(?:https?:\/\/|\/(?!\/)|#)/

/** The words of inline tokens, without their markup. */
function joinText(tokens: readonly Token[] = []): string {
  const words = tokens.map((token) => {
    if (token.type === 'codespan') return token.raw.replaceAll('`', '')
    return 'tokens' in token ? joinText(token.tokens) : token.raw
  })
  return words.join('').replaceAll(/\s+/g, ' ')
}

const markdown = new Marked({
  renderer: {
    // The page's own heading is the only first-level one.
    heading({ tokens, depth }) {
      const tag = depth <= 2 ? 'h2' : 'h3'
      return `<${tag}>${this.parser.parseInline(tokens)}</${tag}>\n`
    },
    code: ({ text }) => html`<pre tabindex="0"><code>${text}</code></pre>\n`.toString(),
    html: ({ text }) => (text.startsWith('<!--') ? '' : html`${text}`.toString()),
    // marked treats the contents of raw HTML as intended markup.
    text(token) {
      const inner = 'tokens' in token ? token.tokens : undefined
      return inner === undefined ? html`${token.text}`.toString() : this.parser.parseInline(inner)
    },
    image: ({ text }) => html`${text}`.toString(),
    // A path inside the repository leads nowhere here; the file's name is what helps the reader.
    link({ href, tokens }) {
      const words = this.parser.parseInline(tokens)
      if (!SERVED_TARGET.test(href)) return words
      return html`<a href="${href}">${new Html(words)}</a>`.toString()
    },
    tablecell({ tokens, header }) {
      const words = this.parser.parseInline(tokens)
      return header ? `<th scope="col">${words}</th>` : `<td>${words}</td>`
    },
  },
})

/** A document as a page: its first heading is the title, the paragraph under it the lead; raw HTML becomes text. */
export function documentPage(text: string): Pick<Page, 'title' | 'lead' | 'body'> {
  const tokens = markdown.lexer(text).filter(({ type }) => type !== 'space')
  const [first, second] = tokens
  const title = first?.type === 'heading' ? joinText(first.tokens) : undefined
  const lead =
    title !== undefined && second?.type === 'paragraph' ? joinText(second.tokens) : undefined
  const rest = tokens.slice(Number(title !== undefined) + Number(lead !== undefined))
  return {
    title: title ?? 'Document',
    lead: lead ?? '',
    body: html`<div class="document">\n${new Html(markdown.parser(rest))}</div>`,
  }
}

export const documentLinks: NonNullable<Page['links']> = [
  ...DOCUMENTS.map(({ path, label }) => ({ href: path, label })),
  ...kitLinks,
]

const read = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8')

const documents = DOCUMENTS.map(({ path, file }) => ({ path, page: documentPage(read(file)) }))

/** The list, with documents in the given frame. */
export function readDocuments(frame: Pick<Page, 'brand' | 'nav'>): readonly PageFile[] {
  return [
    ...documents.map(({ path, page }) =>
      framedPage([path], { ...frame, ...page, links: documentLinks }),
    ),
    ...FILES.map(({ path, file, contentType }) =>
      pageFile([path], contentType, read(`../../../../${file}`)),
    ),
  ]
}
