import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { newerInScripts } from '@tallystick/page-testing'
import { describe, expect, it } from 'vitest'
import { englishIn } from './english-in.fixture.ts'
import { pagesPolicy, readPageFiles } from './page-files.ts'
import { PAGE_WORDS, pageWords } from './page-words.ts'

const signIn = { resource: 'https://care.test/mcp', issuers: [] }
const places = {
  baseUrl: 'https://care.test',
  clinic: 'Hill Clinic',
  serviceName: 'care',
  isPrivate: false,
  timeZone: 'UTC',
  signIn,
}
const files = readPageFiles(places)
const bodies = new Map(files.flatMap(({ paths, body }) => paths.map((path) => [path, body])))
/** Served by the kit. */
const KIT_FILES = new Set(['/pages/style.css', '/pages/icon.svg', '/pages/browser-check.js'])
const browserFolder = fileURLToPath(new URL('browser/', import.meta.url))

describe('what is served', () => {
  it('is every browser-side file, and no test or configuration', () => {
    const onDisk = readdirSync(browserFolder)
      .filter((name) => !name.includes('.test.') && name !== 'tsconfig.json')
      .map((name) => `/pages/${name.replace('.ts', '.js')}`)
    const served = [...bodies.keys()].filter((path) => /^\/pages\/[^@]+$/.test(path))
    expect(served.toSorted()).toEqual(onDisk.toSorted())
  })

  it('markup and imports name only what is served too', () => {
    for (const [path, body] of bodies) {
      const own = [...body.matchAll(/(?:src|href)="(\/pages\/[^"]+)"/g)].map(([, name]) => name)
      const imports = [...body.matchAll(/from '([^']+)'/g)].map(([, name]) => name)
      for (const name of [...own, ...imports])
        expect(KIT_FILES.has(name ?? '') || bodies.has(name ?? ''), `${path} → ${name}`).toBe(true)
    }
  })

  it('leaves no placeholder in a page, and escapes what fills it', () => {
    const pages = [...bodies.values()].filter((body) => body.startsWith('<!doctype'))
    expect(pages).toHaveLength(10)
    expect(pages.filter((body) => body.includes('{{'))).toEqual([])
    const odd = readPageFiles({ ...places, baseUrl: 'https://a.test/"><b>$&' })
    const overview = odd.find(({ paths }) => paths.includes('/'))
    expect(overview?.body).toContain('curl https://a.test/&quot;&gt;&lt;b&gt;$&amp;/verify')
  })
})

const PAGES = {
  '/': 'overview',
  '/clinician.html': 'clinician',
  '/echo.html': 'echo',
  '/reads.html': 'reads',
  '/timeline.html': 'timeline',
} as const

const bodyIn = (language: string | undefined, path: string, isPrivate = false): string =>
  readPageFiles({ ...places, language, isPrivate }).find(({ paths }) => paths.includes(path))
    ?.body ?? ''

/** Texts and labels of a page but what is marked as English or as code. */
const listTexts = (body: string): readonly string[] => [
  ...body
    .replace(
      /<(a|option|pre|bdi|script)\b[^>]*(?: lang="en"|class="mono"|tabindex|src)[^>]*>.*?<\/\1>/gs,
      '',
    )
    .split(/<[^>]*>/),
  ...Array.from(
    body.matchAll(/(?:aria-label|name="description" content)="([^"]*)"/g),
    ([, text = '']) => text,
  ),
]

describe('C37: the pages in the service’s language', () => {
  it.each(Object.keys(PAGE_WORDS))('%s: every page says so, and every word of it', (language) => {
    for (const [path, page] of Object.entries(PAGES)) {
      const { isRightToLeft, texts } = pageWords(language, page)
      const body = bodyIn(language, path)
      expect(body).toContain(`<html lang="${language}"${isRightToLeft ? ' dir="rtl"' : ''}>`)
      for (const text of [texts.lead, texts.title, texts.skip, texts.reads, texts.browserLacks])
        expect(body).toContain(text)
    }
  })

  it.each(Object.keys(PAGE_WORDS).filter((language) => language !== 'en'))(
    '%s: no page has English in its markup, whoever may see names',
    (language) => {
      for (const path of Object.keys(PAGES))
        for (const isPrivate of [false, true])
          expect(englishIn(listTexts(bodyIn(language, path, isPrivate)), language), path).toEqual(
            [],
          )
    },
  )

  it('each page has the words for its own script, and no other page’s', () => {
    for (const [path, page] of Object.entries(PAGES)) {
      const [, embedded = ''] =
        /<meta name="words" content="([^"]*)">/.exec(bodyIn('de', path)) ?? []
      expect(JSON.parse(embedded.replaceAll('&quot;', '"'))).toEqual(pageWords('de', page))
    }
    expect(pageWords('de', 'overview').texts).not.toHaveProperty('signIn')
    expect(pageWords('de', 'echo').texts).not.toHaveProperty('publish')
  })

  it('is English where none is set or nobody translated', () => {
    expect(bodyIn('pt', '/echo.html')).toContain('<html lang="en">')
    expect(bodyIn(undefined, '/clinician.html')).toContain('Write or correct a record')
  })
})

const isScript = ({ contentType }: { readonly contentType: string }): boolean =>
  contentType.startsWith('text/javascript')
const scripts = Object.fromEntries(
  files.filter(isScript).map(({ paths, body }) => [paths.join(), body]),
)

it('C39: no script uses what browsers of 2022 lack', () => {
  // The last are members of the service's answers.
  expect(newerInScripts(scripts, ['token', 'silent'])).toEqual({})
})

describe('C19: a strict policy', () => {
  it('allows nothing inline, nothing from another origin and no text as markup', () => {
    const policy = pagesPolicy(signIn)
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("require-trusted-types-for 'script'")
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
  })

  it('lets the pages ask the issuers where people sign in, by their origins, and nobody else', () => {
    const issuers = [{ issuer: 'https://login.test/realms/care', hasOwnAudience: false }]
    const policy = pagesPolicy({ ...signIn, issuers })
    expect(policy).toContain("connect-src 'self' https://login.test;")
    expect(policy.replace('https://login.test', '')).toBe(
      pagesPolicy(signIn).replace("connect-src 'self'", "connect-src 'self' "),
    )
  })

  it.each(files.filter(({ contentType }) => contentType.startsWith('text/html')))(
    '$paths.0 has no inline script, style or handler',
    ({ body }) => {
      expect(body).not.toMatch(/<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=|javascript:/i)
    },
  )

  it.each(files.filter(({ contentType }) => contentType.startsWith('text/javascript')))(
    '$paths.0 makes no markup or code from text',
    ({ body }) => {
      expect(body).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function|srcdoc/,
      )
    },
  )
})
