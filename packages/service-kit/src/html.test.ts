import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { html } from './html.ts'
import { pagePolicy, renderPage } from './page.ts'

describe('html', () => {
  test('whatever is put in, no markup comes out of it', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('<', '>', '&', '"', "'", 'a') }), (value) => {
        const text = html`<p title="${value}">${value}</p>`.toString()
        const inner = text.slice('<p title="'.length, -'</p>'.length)
        expect(inner.split('">')).toHaveLength(2)
        expect(inner.replace('">', '')).not.toMatch(/[<>"']/)
      }),
    )
  })

  test('nothing is left of undefined, null and false; lists and markup are put in whole', () => {
    expect(html`${undefined}${null}${false}${[html`<b>${'<'}</b>`, 1n, 0]}`.toString()).toBe(
      '<b>&lt;</b>10',
    )
  })
})

describe('renderPage', () => {
  const page = {
    title: 'Access <1>',
    lead: 'Pay once & stay in.',
    figures: [{ label: 'Open windows', value: '12' }],
    requests: [{ title: 'First request', code: "curl 'http://a/?x=<y>'" }],
    links: [{ label: 'Docs', href: '/docs?a="b"' }],
    script: 'console.log(1 < 2)',
  }

  test('is a whole document with language, viewport, headings and escaped text', () => {
    const text = renderPage(page).toString()
    expect(text).toMatch(/^<!doctype html>\n<html lang="en">/)
    expect(text).toContain('name="viewport"')
    expect(text).toContain('<h1>Access &lt;1&gt;</h1>')
    expect(text).toContain('<dt>Open windows</dt><dd>12</dd>')
    expect(text).toContain('curl &#39;http://a/?x=&lt;y&gt;&#39;')
    expect(text).toContain('href="/docs?a=&quot;b&quot;"')
    expect(text).toContain('<script>console.log(1 < 2)</script>')
    expect(text.length).toBeLessThan(4_000)
  })

  test('has the heading that it is given under its title, and room for long figures', () => {
    const figures = [{ label: 'Contract', value: '0x'.padEnd(42, '1') }]
    const text = renderPage({ ...page, heading: 'Pay once', figures }).toString()
    expect(text).toMatch(/<header class="top"><p>.*Access &lt;1&gt;<\/p><\/header>/)
    expect(text).toContain('<h1>Pay once</h1>')
    expect(text).toContain('<div class="long"><dt>Contract</dt>')
  })

  test('the policy allows exactly its own style and script', () => {
    expect(pagePolicy()).toContain("script-src 'none'; connect-src 'none'")
    expect(pagePolicy(page.script)).toMatch(
      /script-src 'sha256-[A-Za-z0-9+/=]{44}'; connect-src 'self'/,
    )
    expect(pagePolicy(page.script)).not.toContain('unsafe')
  })
})
