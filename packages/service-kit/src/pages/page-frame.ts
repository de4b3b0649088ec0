/**
 * The frame of every page: head, mark, navigation, heading, footer. Pages pass their parts as values; style and scripts
 * are separate files, so the policy can forbid everything inline.
 */
import { Html, html } from './html.ts'

type PageLink = { readonly label: string; readonly href: string }

/** The frame itself says these, and `browser/browser-check.ts` of a browser that lacks something and of a script that fails. */
type FrameWords = Readonly<
  Record<'pages' | 'more' | 'skip' | 'browserLacks' | 'pageFailed', string>
>

const ENGLISH: NonNullable<Page['language']> = {
  tag: 'en',
  isRightToLeft: false,
  words: {
    pages: 'Pages',
    more: 'More',
    skip: 'Skip to the page',
    browserLacks:
      'This browser lacks {what}. This page works from Safari {safari}, Chrome {chrome} or Firefox {firefox} on.',
    pageFailed:
      'A part of this page failed ({why}). What it shows may be old or incomplete: load it again, in Safari {safari}, Chrome {chrome} or Firefox {firefox} or newer.',
  },
}

/** A page shows these, top to bottom. */
export type Page = {
  /** Of the answer; by default 200. */
  readonly status?: number
  /** Whether a form of it asks its own service, also without a script. */
  readonly hasForm?: boolean
  /** The document's title. */
  readonly title: string
  /** Of everything on the page but the footer's links, whose pages are English; English by default. */
  readonly language?: {
    readonly tag: string
    readonly isRightToLeft: boolean
    readonly words: FrameWords
  }
  /** For search engines and link previews; defaults to the lead. */
  readonly description?: string
  /** Whose pages these are, shown beside the mark; defaults to the title. */
  readonly brand?: string
  /** The service's pages. */
  readonly nav?: readonly PageLink[]
  /** Which entry of `nav` this page is. */
  readonly path?: string
  /** Defaults to the title. */
  readonly heading?: string
  /** One or two sentences: what this page is. */
  readonly lead: string
  /** Figures, e.g. `Open windows` – `12`; `exact` is the same in base units. */
  readonly figures?: readonly {
    readonly label: string
    readonly value: string
    readonly exact?: string | undefined
  }[]
  readonly body?: Html
  /** Requests to copy, each with a sentence. */
  readonly requests?: readonly { readonly title: string; readonly code: string }[]
  /** A sentence in the footer. */
  readonly notice?: string
  /** In the footer; defaults to the kit's own. */
  readonly links?: readonly PageLink[]
  /** For pages with plots and wide tables. */
  readonly isWide?: boolean
  /** Path of the page's module, e.g. `/pages/echo.js`; a page with requests has one that offers to copy them. */
  readonly script?: string
  /** The server tells the script these: `meta` elements by name. */
  readonly facts?: Readonly<Record<string, string>>
}

/** Links that every service has. */
export const kitLinks: readonly PageLink[] = [
  { label: 'API reference', href: '/docs' },
  { label: 'OpenAPI', href: '/openapi.json' },
  { label: 'Readiness', href: '/ready' },
  { label: 'For language models', href: '/llms.txt' },
]

/** Longer values, such as addresses, take the width of two figures. */
const FIGURE_CHARACTERS_MAX = 24

function navigation({ language = ENGLISH, nav = [], path }: Page): Html | false {
  const items = nav.map(
    ({ label, href }) =>
      html`<li><a href="${href}"${href === path && html` aria-current="page"`}>${label}</a></li>`,
  )
  return items.length > 0 && html`<nav aria-label="${language.words.pages}"><ul>${items}</ul></nav>`
}

/** A name of two parts breaks between them, never inside one. */
const breakable = (value: string): readonly (Html | string)[] =>
  value.split(/(?<=:)/).map((part, at) => (at === 0 ? part : html`<wbr>${part}`))

function figureList(figures: NonNullable<Page['figures']>): Html | false {
  const items = figures.map(
    ({ exact, label, value }) =>
      html`<div${value.length > FIGURE_CHARACTERS_MAX && html` class="long"`}><dt>${label}</dt><dd>${breakable(value)}${exact !== undefined && html`<small>${exact}</small>`}</dd></div>`,
  )
  return (
    items.length > 0 &&
    html`<section><h2>As this page was loaded</h2><dl class="figures">${items}</dl></section>`
  )
}

function requestList(requests: NonNullable<Page['requests']>): readonly Html[] {
  return requests.map(
    ({ title, code }) =>
      html`<section><h2>${title}</h2><pre tabindex="0" role="region" aria-label="${title}"><code>${code}</code></pre></section>`,
  )
}

/** The whole document. */
export function pageFrame(page: Page): Html {
  const { title, lead, brand = title, heading = title, links = kitLinks } = page
  const { script = page.requests && '/pages/offer-copies.js' } = page
  const { isRightToLeft, tag, words } = page.language ?? ENGLISH
  const facts = Object.entries(page.facts ?? {}).map(
    ([name, content]) => html`<meta name="${name}" content="${content}">\n`,
  )
  return html`<!doctype html>
<html lang="${tag}"${isRightToLeft && html` dir="rtl"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${page.description ?? lead}">
${facts}<title>${title}</title>
<link rel="icon" href="/pages/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/pages/style.css">
${
  script !== undefined &&
  html`<meta name="browser-lacks" content="${words.browserLacks}">
<meta name="page-failed" content="${words.pageFailed}">
<script type="module" src="/pages/browser-check.js"></script>
<script type="module" src="${script}"></script>`
}
</head>
<body${page.isWide === true && html` class="wide-page"`}>
<a class="skip" href="#content">${words.skip}</a>
<header class="top"><div>
<a class="brand" href="/"><img src="/pages/icon.svg" alt="" width="28" height="28">${brand}</a>
${navigation(page)}
</div></header>
<main id="content">
<h1>${heading}</h1>
${lead !== '' && html`<p class="lead">${lead}</p>`}
${figureList(page.figures ?? [])}
${page.body}
${requestList(page.requests ?? [])}
</main>
<footer><div>
${page.notice !== undefined && html`<p>${page.notice}</p>`}
<nav aria-label="${words.more}">${links.map(({ label, href }) => html`<a href="${href}" lang="en" hreflang="en">${label}</a>`)}</nav>
</div></footer>
</body>
</html>
`
}

/** Markup from a file, with each `{{name}}` replaced by the escaped value of that name. Throws for a name without a value. */
export function filledMarkup(
  markup: string,
  values: Readonly<Record<string, Html | string>>,
): Html {
  const filled = markup.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`No value for {{${name}}} of a page.`)
    return html`${value}`.toString()
  })
  return new Html(filled)
}
