/**
 * Markdown as this repository's own documents use it, to safe markup: headings, paragraphs, lists, tables, fenced code,
 * inline code, bold, links. Everything is escaped; what it does not know stays readable text. It is no general renderer.
 */
import { type Html, html, type Page } from '@tallystick/service-kit'
import { renderInline } from './render-inline.ts'

type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly text: string }
  | { readonly kind: 'paragraph'; readonly text: string }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'list'; readonly isOrdered: boolean; readonly items: readonly string[] }
  | { readonly kind: 'table'; readonly rows: readonly (readonly string[])[] }

const FENCE = /^```/
const HEADING = /^(#{1,6}) (.+)$/
const BULLET = /^(?:[-*]|(\d+)\.) (.+)$/
const CONTINUED = /^ {2,}(\S.*)$/
const TABLE_RULE = /^\|[ :|-]+\|$/
const COMMENT = /^<!--.*-->$/

const cellsOf = (line: string): readonly string[] =>
  line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))

/** Takes lines from a text one by one, with one to look ahead at. */
type Lines = { peek(): string | undefined; take(): string }

function linesOf(text: string): Lines {
  const all = text.split(/\r?\n/)
  let next = 0
  return {
    peek: () => all[next],
    take: () => {
      next += 1
      return all[next - 1] ?? ''
    },
  }
}

function takeCode(lines: Lines): Block {
  lines.take()
  const code: string[] = []
  for (let line = lines.peek(); line !== undefined && !FENCE.test(line); line = lines.peek())
    code.push(lines.take())
  lines.take()
  return { kind: 'code', text: code.join('\n') }
}

function takeTable(lines: Lines): Block {
  const rows: (readonly string[])[] = []
  for (let line = lines.peek(); line?.startsWith('|') === true; line = lines.peek()) {
    const row = lines.take().trim()
    if (!TABLE_RULE.test(row)) rows.push(cellsOf(row))
  }
  return { kind: 'table', rows }
}

function takeList(lines: Lines): Block {
  const isOrdered = BULLET.exec(lines.peek() ?? '')?.[1] !== undefined
  const items: string[] = []
  for (let line = lines.peek(); line !== undefined; line = lines.peek()) {
    const item = BULLET.exec(line)?.[2]
    const more = CONTINUED.exec(line)?.[1]
    if (item !== undefined) items.push(item)
    else if (more !== undefined) items.push(`${items.pop() ?? ''} ${more}`)
    else break
    lines.take()
  }
  return { kind: 'list', isOrdered, items }
}

const startsOther = (line: string): boolean =>
  line.trim() === '' ||
  FENCE.test(line) ||
  HEADING.test(line) ||
  BULLET.test(line) ||
  line.startsWith('|')

function takeParagraph(lines: Lines): Block {
  const text: string[] = [lines.take()]
  for (let line = lines.peek(); line !== undefined && !startsOther(line); line = lines.peek())
    text.push(lines.take())
  return { kind: 'paragraph', text: text.join(' ') }
}

function readBlocks(text: string): readonly Block[] {
  const lines = linesOf(text)
  const blocks: Block[] = []
  for (let line = lines.peek(); line !== undefined; line = lines.peek()) {
    const heading = HEADING.exec(line)
    if (line.trim() === '' || COMMENT.test(line.trim())) lines.take()
    else if (FENCE.test(line)) blocks.push(takeCode(lines))
    else if (heading !== null) {
      lines.take()
      blocks.push({ kind: 'heading', level: heading[1]?.length ?? 1, text: heading[2] ?? '' })
    } else if (line.startsWith('|')) blocks.push(takeTable(lines))
    else if (BULLET.test(line)) blocks.push(takeList(lines))
    else blocks.push(takeParagraph(lines))
  }
  return blocks
}

const plainText = (text: string): string =>
  text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, '')

const renderRow = (cells: readonly string[]): Html =>
  html`<tr>${cells.map((cell) => html`<td>${renderInline(cell)}</td>`)}</tr>`

function renderTable(rows: readonly (readonly string[])[]): Html {
  const [head = [], ...body] = rows
  const names = head.map((cell) => html`<th scope="col">${renderInline(cell)}</th>`)
  return html`<table><thead><tr>${names}</tr></thead><tbody>${body.map(renderRow)}</tbody></table>`
}

function renderBlock(block: Block): Html {
  if (block.kind === 'heading')
    return block.level <= 2
      ? html`<h2>${renderInline(block.text)}</h2>`
      : html`<h3>${renderInline(block.text)}</h3>`
  if (block.kind === 'paragraph') return html`<p>${renderInline(block.text)}</p>`
  if (block.kind === 'code') return html`<pre tabindex="0"><code>${block.text}</code></pre>`
  if (block.kind === 'table') return renderTable(block.rows)
  const items = block.items.map((item) => html`<li>${renderInline(item)}</li>`)
  return block.isOrdered ? html`<ol>${items}</ol>` : html`<ul>${items}</ul>`
}

/** A document as a page: its first heading is the title, the paragraph under it the lead. */
export function renderMarkdown(text: string): Pick<Page, 'title' | 'lead' | 'body'> {
  const blocks = readBlocks(text)
  const [first, second] = blocks
  const hasTitle = first?.kind === 'heading'
  const hasLead = hasTitle && second?.kind === 'paragraph'
  const rest = blocks.slice(Number(hasTitle) + Number(hasLead))
  return {
    title: hasTitle ? plainText(first.text) : 'Document',
    lead: hasLead ? plainText(second.text) : '',
    body: html`${rest.map((block) => html`${renderBlock(block)}\n`)}`,
  }
}
