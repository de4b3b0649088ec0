// The card that hosts show beside a tool's answer: what held when the tool answered, and what that corrects. A card stays in a
// conversation, so it says its time and nothing of now, and before an answer it says nothing. One self-contained page serves both kinds of host: MCP Apps (SEP-1865) speak JSON-RPC over postMessage, while hosts of the older form set
// window.openai. Record text reaches the page only as textContent, and its policy allows no requests.

import { UNSEEN } from '../../wire/text-of-others.ts'
import { say, TEXTS, type Texts } from '../../wire/texts.ts'

const STYLE = `
:root{color-scheme:light dark}
body{margin:0;padding:16px;font:16px/1.5 system-ui,sans-serif;background:Canvas;color:CanvasText}
h1{font-size:14px;font-weight:600;margin:0 0 8px}
article{border-top:1px solid GrayText;padding:12px 0}
.topic{font-size:13px;margin:0}
.value{font-size:20px;margin:4px 0;white-space:pre-wrap}
.correction{margin:8px 0 0;padding:8px 12px;border-inline-start:4px solid Highlight}
.age{font-size:13px;margin:4px 0 0}
[hidden]{display:none}
`

/** A script's own text, in which no tag can end it. */
const literal = (value: unknown): string => JSON.stringify(value).replaceAll('<', '\\u003c')

const scriptIn = ({ language, cardAsOf, cardUnchanged }: Texts, timeZone: string): string => `
'use strict'
const TRANSLATED = ${JSON.stringify([...TEXTS.keys()])}
// By the clinic's clock, with its zone: a conversation is read anywhere.
const timeText = (at) => {
  const text = (zone) => new Date(at).toLocaleString(${language === 'en' ? 'undefined' : literal(language)}, { ...zone, year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: '2-digit', timeZoneName: 'short' })
  try {
    return text({ timeZone: ${literal(timeZone)} })
  } catch {
    return text({})
  }
}
const list = document.getElementById('records')
const empty = document.getElementById('empty')
const asOfLine = document.getElementById('as-of')
const seen = (text) => String(text).replace(${UNSEEN}, (each) => '\\t\\n\\r'.includes(each) ? each : '\\\\u{' + each.codePointAt(0).toString(16).toUpperCase() + '}')
const line = (parent, className, text, language) => {
  if (!text) return
  const element = document.createElement('p')
  element.className = className
  // A language that nobody has said is claimed by nobody.
  if (language !== undefined) element.lang = language
  element.dir = 'auto'
  element.textContent = text
  parent.append(element)
}
const show = (output) => {
  if (!output || typeof output !== 'object') return
  const records = Array.isArray(output.changed) ? output.changed : output.uri ? [output] : []
  list.replaceChildren()
  for (const record of records) {
    const article = document.createElement('article')
    line(article, 'topic', seen(record.domain))
    const around = TRANSLATED.includes(String(record.language).split('-')[0]) ? record.language : 'en'
    line(article, 'correction', record.superseded, around)
    if (record.withdrawal) line(article, 'value', record.withdrawal, around)
    else line(article, 'value', seen(record.value), record.language || '')
    line(article, 'age', record.ageWords, around)
    line(article, 'correction', record.retraction, around)
    list.append(article)
  }
  if (output.asOf) asOfLine.textContent = ${literal(cardAsOf)}.replace('{time}', () => timeText(output.asOf))
  empty.textContent = ${literal(cardUnchanged)}
  empty.hidden = records.length > 0
}
const host = window.parent
const send = (message) => host.postMessage({ jsonrpc: '2.0', ...message }, '*')
window.addEventListener('message', (event) => {
  if (event.source !== host || !event.data || event.data.jsonrpc !== '2.0') return
  const { id, method, params } = event.data
  if (id === 1 && !method) send({ method: 'ui/notifications/initialized', params: {} })
  if (method === 'ui/notifications/tool-result') show(params && params.structuredContent)
  if (method === 'ping' || method === 'ui/resource-teardown') send({ id, result: {} })
})
window.addEventListener('openai:set_globals', (event) => {
  const globals = event.detail && event.detail.globals
  if (globals && globals.toolOutput) show(globals.toolOutput)
})
if (window.openai) show(window.openai.toolOutput)
else if (host !== window)
  send({ id: 1, method: 'ui/initialize', params: { protocolVersion: '2026-01-26', appInfo: { name: 'tallystick-care', version: '1' }, appCapabilities: {} } })
`

/** The card, with its own words in a language (C37), and its time by the clinic's clock. */
export const cardPage = (texts: Texts, timeZone: string): string => `<!doctype html>
<html lang="${texts.language}"${texts.isRightToLeft ? ' dir="rtl"' : ''}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>${say(texts, 'cardName')}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${say(texts, 'cardHeading')}</h1>
<p id="as-of" class="age"></p>
<div id="records" aria-live="polite"></div>
<p id="empty">${say(texts, 'cardEmpty')}</p>
</main>
<script>${scriptIn(texts, timeZone)}</script>
</body>
</html>
`
