import { type Html, html } from '@tallystick/service-kit/pages'

/** A page within the frame that all four share. */
export type PageShell = {
  readonly path: string
  readonly title: string
  readonly description: string
  /** Its module under `/pages/`; none for a page without one. */
  readonly script?: string
  /** What the server tells the page's script. */
  readonly facts?: Readonly<Record<string, string>>
  readonly body: Html
}

const PAGES = [
  { path: '/', name: 'Overview' },
  { path: '/calibration', name: 'Calibration' },
  { path: '/try', name: 'Try it' },
  { path: '/method', name: 'Method' },
]

const LINKS = [
  { href: '/docs', name: 'API reference' },
  { href: '/openapi.json', name: 'OpenAPI' },
  { href: '/llms.txt', name: 'For language models' },
  { href: '/ready', name: 'Readiness' },
]

function navigation(current: string): readonly Html[] {
  return PAGES.map(({ path, name }) =>
    path === current
      ? html`<li><a href="${path}" aria-current="page">${name}</a></li>
`
      : html`<li><a href="${path}">${name}</a></li>
`,
  )
}

/** The whole document. */
export function pageShell(page: PageShell): Html {
  const facts = Object.entries(page.facts ?? {}).map(
    ([name, content]) => html`<meta name="${name}" content="${content}">
`,
  )
  const links = LINKS.map(({ href, name }) => html`<a href="${href}">${name}</a>`)
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${page.description}">
${facts}<title>${page.title}</title>
<link rel="icon" href="/pages/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/pages/style.css">
<link rel="stylesheet" href="/pages/grading.css">
${page.script !== undefined && html`<script type="module" src="/pages/${page.script}"></script>`}
</head>
<body>
<a class="skip" href="#content">Skip to the page</a>
<header class="top"><div>
<a class="brand" href="/"><img src="/pages/icon.svg" alt="" width="28" height="28">Tallystick grading</a>
<nav aria-label="Pages"><ul>
${navigation(page.path)}</ul></nav>
</div></header>
<main id="content">
${page.body}
</main>
<footer><div>
<p>Odds are data here: nothing on these pages is advice to bet. For people of 18 and older.</p>
<nav aria-label="More">${links}</nav>
</div></footer>
</body>
</html>
`
}
