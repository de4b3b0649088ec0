import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { documentPage } from './documents.ts'

/** The markup of a document's body, without line ends between elements. */
const readMarkup = ({ body }: ReturnType<typeof documentPage>) =>
  String(body)
    .replace(/^<div class="document">\n(.*)<\/div>$/s, '$1')
    .replaceAll(/(?<=>|&gt;)\n+(?=<|$)/g, '')

describe('documents as pages', () => {
  test('the first heading is the title, the paragraph under it the lead', () => {
    const page = documentPage('# A `title`\n\nWhat it **is**,\nin [two](/x) lines.\n\nMore.')
    expect([page.title, page.lead]).toEqual(['A title', 'What it is, in two lines.'])
    expect(readMarkup(page)).toBe('<p>More.</p>')
  })

  test.each([
    ['## Two', '<h2>Two</h2>'],
    ['### Three', '<h3>Three</h3>'],
    ['- a\n- b\n  more', '<ul><li>a</li><li>b\nmore</li></ul>'],
    ['1. a\n2. b', '<ol><li>a</li><li>b</li></ol>'],
    ['```sh\na <b\n\n# c\n```', '<pre tabindex="0"><code>a &lt;b\n\n# c</code></pre>'],
    ['`a<b` **c** [d](/e)', '<p><code>a&lt;b</code> <strong>c</strong> <a href="/e">d</a></p>'],
    ['[x](https://a.test/?b=1&c=2)', '<p><a href="https://a.test/?b=1&amp;c=2">x</a></p>'],
    ['[file](src/app.ts) [y](javascript:1) [z](//a.test)', '<p>file y z</p>'],
    ['<!-- environment -->', ''],
    ['a <b>c</b>', '<p>a &lt;b&gt;c&lt;/b&gt;</p>'],
    ['<div onclick="x">\n', '&lt;div onclick=&quot;x&quot;&gt;'],
    ['![a<b](/x.png)', '<p>a&lt;b</p>'],
    [
      '| a | b |\n|---|---|\n| `x` | y \\| z |',
      '<table><thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead><tbody><tr><td><code>x</code></td><td>y | z</td></tr></tbody></table>',
    ],
  ])('%j', (text, markup) => {
    expect(readMarkup(documentPage(`# t\n\nlead\n\n${text}`))).toBe(markup)
  })

  test('any text terminates, and adds no markup of its own', () => {
    const piece = fc.constantFrom(
      '<script>',
      '<img onerror=x>',
      '<!--',
      '-->',
      '&lt;',
      '`',
      '**',
      '[',
      '](',
      ')',
      '|',
      '\n',
      '- ',
      '#',
      '"',
      "'",
      'a',
      '```',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const { title, body } = documentPage(pieces.join(''))
        expect(String(body)).not.toMatch(/<(?:script|img|!--)/)
        expect(typeof title).toBe('string')
      }),
    )
  })
})
