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
  /** The service's name: of the document, and at the top of the page. */
  readonly title: string
  /** What the page claims; without it its heading is the title. */
  readonly heading?: string
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

// The palette and the shapes of pages/frame.css, as far as this page has them.
const STYLE = `
:root{color-scheme:light dark;--ink:#1c1b18;--paper:#fbfaf6;--card:#fff;--faint:#625e54;--line:#dedacd;--accent:#7a3e12}
@media(prefers-color-scheme:dark){:root{--ink:#ece8dd;--paper:#171614;--card:#1f1e1b;--faint:#a9a395;--line:#3a372f;--accent:#e8a46b}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.55 system-ui,sans-serif}
.top{border-bottom:1px solid var(--line)}
.top p,main{max-width:60rem;margin:0 auto;padding-inline:clamp(1rem,4vw,2rem)}
.top p{display:flex;align-items:center;gap:.6rem;padding-block:.7rem;font-weight:650}
main{padding-block:clamp(1.5rem,4vw,2.75rem) 3.5rem}
h1{font-size:clamp(1.6rem,1.2rem + 1.8vw,2.2rem);line-height:1.15;letter-spacing:-.015em;margin:0}
h2{font-size:1.15rem;line-height:1.3;margin:2.25rem 0 .75rem}
.lead{max-width:44rem;font-size:1.1rem;color:var(--faint);margin:.7rem 0 0}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(11.5rem,1fr));gap:.75rem;margin:0}
dl div,pre{background:var(--card);border:1px solid var(--line);border-radius:10px}
dl div{padding:.75rem .9rem}
dl .long{grid-column:span 2}
dt{color:var(--faint);font-size:.88rem}
dd{margin:0;font-size:1.15rem;line-height:1.3;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.long dd{font:.82rem/1.8 ui-monospace,monospace}
@media(max-width:30rem){dl .long{grid-column:auto}}
pre{margin:0;padding:.85rem 1rem;overflow-x:auto;font:.88rem/1.5 ui-monospace,monospace}
a{color:var(--accent);text-underline-offset:.18em}
nav ul{display:flex;flex-wrap:wrap;gap:.4rem 1.2rem;list-style:none;padding:0;margin:0}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:4px}
`

/** Four notches and the fifth across: what a tally stick counts with. */
const MARK =
  '<svg aria-hidden="true" width="28" height="28" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#7a3e12"/><g stroke="#fbfaf6" stroke-width="2.6" stroke-linecap="round"><path d="M8.5 8v16M13.5 8v16M18.5 8v16M23.5 8v16"/><path d="M5.5 21.5 26.5 10.5"/></g></svg>'

/** Longer values, such as addresses, get the room of two figures. */
const FIGURE_CHARACTERS_MAX = 24

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
    ({ label, value }) =>
      html`<div${value.length > FIGURE_CHARACTERS_MAX && html` class="long"`}><dt>${label}</dt><dd>${value}</dd></div>`,
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
<header class="top"><p>${new SafeHtml(MARK)}${page.title}</p></header>
<main>
<h1>${page.heading ?? page.title}</h1>
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
