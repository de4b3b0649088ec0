import { type Html, html } from '@tallystick/service-kit'

/** Inline code, bold, a link, or a run of other text; alternatives are tried in this order at each place. */
const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^)\s]+)\)/g

/** Targets that work where the document is served: on the web, or this service's own paths. */
const isServedTarget = (target: string): boolean => /^(?:https?:\/\/|\/(?!\/)|#)/.test(target)

function link(label: string, target: string): Html {
  // A path inside the repository leads nowhere here: the name of the file is what a reader can use.
  return isServedTarget(target)
    ? html`<a href="${target}">${renderInline(label)}</a>`
    : html`${renderInline(label)}`
}

/** One line of text with its inline markup. */
export function renderInline(text: string): Html {
  const parts: Html[] = []
  let end = 0
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, bold, label, target] = match
    parts.push(html`${text.slice(end, match.index)}`)
    if (code !== undefined) parts.push(html`<code>${code}</code>`)
    else if (bold !== undefined) parts.push(html`<strong>${renderInline(bold)}</strong>`)
    else parts.push(link(label ?? '', target ?? ''))
    end = match.index + whole.length
  }
  return html`${parts}${text.slice(end)}`
}
