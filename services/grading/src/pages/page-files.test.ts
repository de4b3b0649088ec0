import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { newerInScripts } from '@tallystick/page-testing'
import { X_LAYER_USDT0 } from '@tallystick/x402/evm'
import { describe, expect, it } from 'vitest'
import { readPageFiles } from './page-files.ts'

const options = {
  baseUrl: 'https://grading.test',
  asset: X_LAYER_USDT0,
} as const
const nowhere = async () => false
const files = readPageFiles(options, nowhere)
const bodies = new Map(files.flatMap(({ paths, body }) => paths.map((path) => [path, body])))
const browserFolder = fileURLToPath(new URL('browser/', import.meta.url))
const pages = files.filter(({ contentType }) => contentType.startsWith('text/html'))

/** Served by the kit. */
const KIT_FILES = new Set(['/pages/style.css', '/pages/icon.svg', '/pages/browser-check.js'])
it('C39: no script of ours uses what browsers of 2022 lack', () => {
  const own = [...bodies].filter(([path]) => path.endsWith('.js') && !path.includes('/@noble/'))
  expect(newerInScripts(Object.fromEntries(own), ['getPublicKey', 'lines'])).toEqual({})
})

describe('what is served', () => {
  it('is every browser file, and no test or configuration', () => {
    const onDisk = readdirSync(browserFolder)
      .filter((name) => !name.endsWith('.test.ts') && name !== 'tsconfig.json')
      .map((name) => `/pages/${name.replace(/\.ts$/, '.js')}`)
    const served = [...bodies.keys()].filter((path) => /^\/pages\/[^@]+$/.test(path))
    expect(served.toSorted()).toEqual(onDisk.toSorted())
  })

  it('is little of the server and of packages, plus what signs with a development key', () => {
    const others = [...bodies.keys()].filter((path) => path.startsWith('/pages/@'))
    expect(others.filter((path) => !path.startsWith('/pages/@noble/')).toSorted()).toEqual([
      '/pages/@tallystick/grading/src/domain/audits/audit-groups.js',
      '/pages/@tallystick/grading/src/domain/audits/record-findings.js',
      '/pages/@tallystick/grading/src/domain/audits/verify-audit.js',
      '/pages/@tallystick/grading/src/domain/closes/far-price.js',
      '/pages/@tallystick/grading/src/domain/closes/verify-entry.js',
      '/pages/@tallystick/grading/src/domain/markets/markets.js',
      '/pages/@tallystick/grading/src/pages/figures.js',
      '/pages/@tallystick/grading/src/tracker/decode-file.js',
      '/pages/@tallystick/grading/src/wire/card-codes.js',
      '/pages/@tallystick/odds/src/grade-price.js',
      '/pages/@tallystick/service-kit/src/pages/browser/page-parts.js',
      '/pages/@tallystick/x402/src/schemes/evm/evm-asset.js',
      '/pages/@tallystick/x402/src/schemes/evm/exact-evm-client.js',
      '/pages/@tallystick/x402/src/schemes/evm/transfer-typed-data.js',
    ])
  })

  it('links and imports only what is also served', () => {
    for (const [path, body] of bodies) {
      const own = [...body.matchAll(/(?:src|href)="(\/pages\/[^"]+)"/g)].map(([, name]) => name)
      const imports = [...body.matchAll(/^(?:import|export)\b[\w$*{},\s]*\bfrom\s+['"]([^'"]+)/gm)]
      for (const name of [...own, ...imports.map(([, specifier]) => specifier)])
        expect(KIT_FILES.has(name ?? '') || bodies.has(name ?? ''), `${path} → ${name}`).toBe(true)
    }
  })

  it('fills every placeholder of a page, and escapes the values', () => {
    expect(pages).toHaveLength(6)
    expect(pages.filter(({ body }) => body.includes('{{'))).toEqual([])
    const odd = readPageFiles({ ...options, baseUrl: 'https://a.test/"><b>$&' }, nowhere)
    const home = odd.find(({ paths }) => paths.includes('/'))
    expect(home?.body).toContain(
      'curl -i -X POST https://a.test/&quot;&gt;&lt;b&gt;$&amp;/api/grade',
    )
    expect(home?.body).not.toContain('"><b>')
  })

  it('every page says that odds are data, and whom it is for', () => {
    for (const { body } of pages)
      expect(body).toContain(
        'Odds are data here: nothing on these pages is betting advice. For people aged 18 and over.',
      )
  })

  it('X13: the first paid request carries the line without which official clients refuse the token', () => {
    expect(bodies.get('/')).toContain('client.setSpendControls(')
    expect(bodies.get('/')).toContain(options.asset.address)
  })
})

describe('a strict policy', () => {
  it.each(pages)('$paths.0 has no inline script, style or handler', ({ body }) => {
    const markup = body.replaceAll(/<pre[\s\S]*?<\/pre>/g, '')
    expect(markup).not.toMatch(/<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=|javascript:/i)
  })

  it.each(
    files.filter(({ paths: [path = ''] }) => path.endsWith('.js') && !path.includes('@noble')),
  )('$paths.0 turns no text into markup or code', ({ body }) => {
    expect(body).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function|srcdoc/,
    )
  })
})
