import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { dollarText, readPageFiles } from './page-files.ts'

const options = {
  baseUrl: 'https://grading.test',
  payment: {
    network: 'eip155:196',
    asset: '0x779Ded0c9e1022225f8E0630b35a9b54bE713736',
    name: 'USD₮0',
    decimals: 6,
    gradeAmount: 10_000n,
    auditAmount: 200_000n,
  },
} as const
const files = readPageFiles(options)
const bodies = new Map(files.flatMap(({ paths, body }) => paths.map((path) => [path, body])))
const browserFolder = fileURLToPath(new URL('browser/', import.meta.url))
const pages = files.filter(({ contentType }) => contentType.startsWith('text/html'))

/** Served by the kit. */
const KIT_FILES = new Set(['/pages/style.css', '/pages/icon.svg'])
/** Whether a path is of a file of ours, not of a library. */
const isOwnFile = (path: string): boolean => /^\/pages\/(?!modules\/)/.test(path)

describe('what is served', () => {
  it('is every file of the browser’s side, and no test or configuration', () => {
    const onDisk = readdirSync(browserFolder)
      .filter((name) => !name.endsWith('.test.js') && name !== 'tsconfig.json')
      .map((name) => `/pages/${name}`)
    const served = [...bodies.keys()].filter(isOwnFile)
    expect(served.toSorted()).toEqual(onDisk.toSorted())
  })

  it('names in markup and imports only what is served too', () => {
    for (const [path, body] of bodies) {
      const own = [...body.matchAll(/(?:src|href)="(\/pages\/[^"]+)"/g)].map(([, name]) => name)
      for (const name of own)
        expect(KIT_FILES.has(name ?? '') || bodies.has(name ?? ''), `${path} → ${name}`).toBe(true)
      for (const [, name = ''] of body.matchAll(
        /^(?:import|export)\b[^'"]*\bfrom\s+['"]([^'"]+)/gm,
      ))
        expect(bodies.has(posix.resolve(posix.dirname(path), name)), `${path} → ${name}`).toBe(true)
    }
  })

  it('leaves no place of a page unfilled, and escapes what fills it', () => {
    expect(pages).toHaveLength(4)
    expect(pages.filter(({ body }) => body.includes('{{'))).toEqual([])
    const odd = readPageFiles({ ...options, baseUrl: 'https://a.test/"><b>$&' })
    const home = odd.find(({ paths }) => paths.includes('/'))
    expect(home?.body).toContain(
      'curl -i -X POST https://a.test/&quot;&gt;&lt;b&gt;$&amp;/api/grade',
    )
    expect(home?.body).not.toContain('"><b>')
  })

  it('every page says that odds are data, and for whom it is', () => {
    for (const { body } of pages)
      expect(body).toContain(
        'Odds are data here: nothing on these pages is advice to bet. For people of 18 and older.',
      )
  })

  it('X13: the first paid request carries the line without which official clients refuse the token', () => {
    expect(bodies.get('/')).toContain('client.setSpendControls(')
    expect(bodies.get('/')).toContain(options.payment.asset)
  })
})

describe('a strict policy', () => {
  it.each(pages)('$paths.0 has no inline script, style or handler', ({ body }) => {
    const markup = body.replaceAll(/<pre[\s\S]*?<\/pre>/g, '')
    expect(markup).not.toMatch(/<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=|javascript:/i)
  })

  it.each(files.filter(({ paths, body }) => paths.some(isOwnFile) && !body.startsWith('<')))(
    '$paths.0 makes no markup and no code of text',
    ({ body }) => {
      expect(body).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function|srcdoc/,
      )
    },
  )
})

it.each([
  [10_000n, 6, '$0.01'],
  [200_000n, 6, '$0.20'],
  [1_000_000n, 6, '$1.00'],
  [1_234_567n, 6, '$1.234567'],
  [5n, 2, '$0.05'],
])('%s base units at %s digits are %s', (amount, decimals, words) => {
  expect(dollarText(amount, decimals)).toBe(words)
})

it('the browser’s side type-checks against the types of browsers', async () => {
  const compiler = join(
    dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
    'bin/tsc',
  )
  const checked = promisify(execFile)(process.execPath, [compiler, '-p', browserFolder])
  await expect(checked).resolves.toMatchObject({ stdout: '' })
}, 60_000)
