import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { html } from './html.ts'
import { filledMarkup, pageFrame } from './page-frame.ts'

describe('html', () => {
  test('whatever goes in, no markup comes out of it', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('<', '>', '&', '"', "'", 'a') }), (value) => {
        const text = html`<p title="${value}">${value}</p>`.toString()
        const inner = text.slice('<p title="'.length, -'</p>'.length)
        expect(inner.split('">')).toHaveLength(2)
        expect(inner.replace('">', '')).not.toMatch(/[<>"']/)
      }),
    )
  })

  test('undefined, null and false leave nothing; lists and markup go in whole', () => {
    expect(html`${undefined}${null}${false}${[html`<b>${'<'}</b>`, 1n, 0]}`.toString()).toBe(
      '<b>&lt;</b>10',
    )
  })
})

describe('pageFrame', () => {
  const page = {
    title: 'Access <1>',
    lead: 'Pay once & stay in.',
    figures: [{ label: 'Open windows', value: '12' }],
    requests: [{ title: 'First request', code: "curl 'http://a/?x=<y>'" }],
    links: [{ label: 'Docs', href: '/docs?a="b"' }],
  }

  test('is a complete document with language, viewport, headings and escaped text', () => {
    const text = pageFrame(page).toString()
    expect(text).toMatch(/^<!doctype html>\n<html lang="en">/)
    expect(text).toContain('name="viewport"')
    expect(text).toContain('<h1>Access &lt;1&gt;</h1>')
    expect(text).toContain('<dt>Open windows</dt><dd>12</dd>')
    expect(text).toContain('curl &#39;http://a/?x=&lt;y&gt;&#39;')
    expect(text).toContain('href="/docs?a=&quot;b&quot;"')
  })

  test('C37: is in the language of its words, from the right where that is written so; the footer’s links are English', () => {
    const words = {
      pages: 'الصفحات',
      more: 'المزيد',
      skip: 'تخطٍّ',
      browserLacks: 'ينقص {what}.',
      pageFailed: 'تعطل {why}.',
    }
    const nav = [{ label: 'a', href: '/a' }]
    const language = { tag: 'ar', isRightToLeft: true, words }
    const text = pageFrame({ ...page, nav, script: '/pages/a.js', language })
    for (const part of [
      '<html lang="ar" dir="rtl">',
      `aria-label="${words.pages}"`,
      words.skip,
      words.browserLacks,
      words.pageFailed,
    ])
      expect(text.toString()).toContain(part)
    expect(text.toString()).toContain(' lang="en" hreflang="en">')
  })

  test('has nothing inline: style and script are files', () => {
    const text = pageFrame({ ...page, script: '/pages/a.js', facts: { name: '"<' } }).toString()
    expect(text).toContain('<script type="module" src="/pages/a.js"></script>')
    expect(text).toContain('<link rel="stylesheet" href="/pages/style.css">')
    expect(text).toContain('<meta name="name" content="&quot;&lt;">')
    expect(text).not.toMatch(/<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=/)
  })

  test('shows the given heading and brand, and has room for long figures', () => {
    const figures = [{ label: 'Contract', value: '0x'.padEnd(42, '1') }]
    const text = pageFrame({ ...page, brand: 'Ours', heading: 'Pay once', figures }).toString()
    expect(text).toMatch(/<header class="top"><div>\n<a class="brand" href="\/">.*Ours<\/a>/)
    expect(text).toContain('<h1>Pay once</h1>')
    expect(text).toContain('<div class="long"><dt>Contract</dt>')
  })

  test('shows an amount for people with its base units below, and breaks a name between its parts', () => {
    const figures = [{ label: 'Balance', value: '1.5 HBAR', exact: '150000000 tinybar' }]
    const network = { label: 'Network', value: 'hedera:testnet' }
    const text = pageFrame({ ...page, figures: [...figures, network] }).toString()
    expect(text).toContain('<dd>1.5 HBAR<small>150000000 tinybar</small></dd>')
    expect(text).toContain('<dd>hedera:<wbr>testnet</dd>')
  })

  test('offers to copy the requests of a page, by its own script or the kit’s', () => {
    const requests = [{ title: 'First', code: 'curl /' }]
    const script = '<script type="module" src="/pages/offer-copies.js"></script>'
    expect(pageFrame({ ...page, requests }).toString()).toContain(script)
    expect(pageFrame({ ...page, requests, script: '/pages/a.js' }).toString()).not.toContain(script)
    const { requests: _, ...without } = page
    expect(pageFrame(without).toString()).not.toContain(script)
  })

  test('marks the current page in the navigation', () => {
    const nav = [
      { label: 'One', href: '/' },
      { label: 'Two', href: '/two' },
    ]
    const text = pageFrame({ ...page, nav, path: '/two' }).toString()
    expect(text).toContain(
      '<li><a href="/">One</a></li><li><a href="/two" aria-current="page">Two</a></li>',
    )
  })
})

describe('filledMarkup', () => {
  test('inserts values escaped, and markup unchanged', () => {
    const filled = filledMarkup('<p>{{a}} {{b}}</p>', { a: '"<$&', b: html`<b>!</b>` })
    expect(String(filled)).toBe('<p>&quot;&lt;$&amp; <b>!</b></p>')
  })

  test('throws for a name without a value', () => {
    expect(() => filledMarkup('{{c}}', {})).toThrow('{{c}}')
  })
})
