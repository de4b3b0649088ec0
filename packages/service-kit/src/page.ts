/**
 * The page that every service shows at `/`: what this is, live figures, a first request to copy. One file of markup and
 * style, no script of its own, nothing fetched from elsewhere; a Content-Security-Policy by hash allows exactly this style and,
 * where a service brings one, its script.
 */
import { hash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { type Html, html, Html as SafeHtml } from './html.ts'

/** What a page shows. */
export type Page = {
  readonly title: string
  /** One or two sentences: what this is. */
  readonly lead: string
  /** Live figures, e.g. `Open windows` – `12`. */
  readonly figures?: readonly { readonly label: string; readonly value: string }[]
  /** Requests to copy, each with a sentence. */
  readonly requests?: readonly { readonly title: string; readonly code: string }[]
  readonly links?: readonly { readonly label: string; readonly href: string }[]
  /** Markup between the figures and the requests. */
  readonly body?: Html
  /** A script of the service's own, constant text: it is allowed by its hash and may talk to its own origin. */
  readonly script?: string
}

const STYLE = `
:root{color-scheme:light dark;--ink:#1c1b18;--paper:#fbfaf6;--faint:#6a665c;--line:#dedacd;--accent:#7a3e12}
@media(prefers-color-scheme:dark){:root{--ink:#ece8dd;--paper:#171614;--faint:#a39d8f;--line:#3a372f;--accent:#e8a46b}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.55 system-ui,sans-serif}
main{max-width:46rem;margin:0 auto;padding:2rem 1.25rem 4rem}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .5rem}
h2{font-size:1.05rem;margin:2.2rem 0 .5rem}
.lead{font-size:1.1rem;margin:0}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:1px;margin:0}
dl div{outline:1px solid var(--line);padding:.7rem .85rem}
dt{color:var(--faint);font-size:.85rem}
dd{margin:0;font-size:1.15rem;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
pre{margin:0;padding:.85rem 1rem;border:1px solid var(--line);overflow-x:auto;font:.88rem/1.5 ui-monospace,monospace}
a{color:var(--accent)}
nav ul{display:flex;flex-wrap:wrap;gap:.4rem 1.2rem;list-style:none;padding:0;margin:0}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
`

const cspHash = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`
const STYLE_HASH = cspHash(STYLE)

/** The policy of a page: its own style and script, no frames, no forms, no other origins. */
export function pagePolicy(script?: string): string {
  const allowed = script === undefined ? "'none'" : cspHash(script)
  return [
    "default-src 'none'",
    `style-src ${STYLE_HASH}`,
    `script-src ${allowed}`,
    `connect-src ${script === undefined ? "'none'" : "'self'"}`,
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** Renders a page as a whole document: light and dark, phone and desk, headings and landmarks in order. */
export function renderPage(page: Page): Html {
  const figures = (page.figures ?? []).map(
    ({ label, value }) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`,
  )
  const requests = (page.requests ?? []).map(
    ({ title, code }) =>
      html`<h2>${title}</h2><pre tabindex="0" aria-label="${title}"><code>${code}</code></pre>`,
  )
  const links = (page.links ?? []).map(
    ({ label, href }) => html`<li><a href="${href}">${label}</a></li>`,
  )
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${page.title}</title>
<style>${new SafeHtml(STYLE)}</style>
</head>
<body>
<main>
<h1>${page.title}</h1>
<p class="lead">${page.lead}</p>
${figures.length > 0 && html`<h2>Right now</h2><dl>${figures}</dl>`}
${page.body}
${requests}
${links.length > 0 && html`<nav aria-label="More"><h2>More</h2><ul>${links}</ul></nav>`}
</main>
${page.script !== undefined && html`<script>${new SafeHtml(page.script)}</script>`}
</body>
</html>
`
}

/** Sends a page with its policy. Pages show live figures: nothing caches them. */
export function sendPage(reply: FastifyReply, page: Page): FastifyReply {
  return reply
    .headers({
      'content-security-policy': pagePolicy(page.script),
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    })
    .type('text/html; charset=utf-8')
    .send(renderPage(page).toString())
}
