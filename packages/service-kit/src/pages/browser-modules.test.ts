import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { browserModules } from './browser-modules.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

/** Writes files to a new folder; `page/` is the root of the modules. */
function folderWith(files: Readonly<Record<string, string>>): URL {
  const folder = mkdtempSync(join(tmpdir(), 'browser-modules-'))
  folders.push(folder)
  for (const [name, text] of Object.entries({ 'package.json': '{"name":"@t/own"}', ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return pathToFileURL(`${folder}/page/`)
}

const ownModules = (files: Readonly<Record<string, string>>, ...entries: readonly string[]) =>
  browserModules({ root: folderWith(files), entries })

/** What is served for these files: bodies by path. */
function served(files: Readonly<Record<string, string>>, ...entries: readonly string[]) {
  const modules = ownModules(files, ...entries)
  expect(modules.every(({ contentType }) => contentType.startsWith('text/javascript'))).toBe(true)
  return Object.fromEntries(modules.map(({ paths, body }) => [paths.join(), body]))
}

const readEtag = (text: string) =>
  browserModules({ root: folderWith({ 'page/a.ts': text }), entries: ['a.ts'] })[0]?.etag

describe('what is served', () => {
  test('types become blanks, specifiers become served paths', () => {
    expect(
      served(
        {
          'page/a.ts': "import { b } from './b.ts'\nexport const a: number = b\n",
          'page/b.ts': 'export const b = 1',
        },
        'a.ts',
      ),
    ).toEqual({
      '/pages/a.js': "import { b } from '/pages/b.js'\nexport const a         = b\n",
      '/pages/b.js': 'export const b = 1',
    })
  })

  test('modules outside the root and of packages are served by package and file name', () => {
    const bodies = served(
      {
        'page/a.ts':
          "import {\n  c,\n} from '../rules/c.ts'\nexport * from '@t/lib/d.js'\nimport 'plain'\n",
        'rules/c.ts': 'export const c = 1',
        'node_modules/@t/lib/package.json': '{"name":"@t/lib","exports":{"./d.js":"./src/d.js"}}',
        'node_modules/@t/lib/src/d.js': 'export { e } from "./deep/e.js"',
        'node_modules/@t/lib/src/deep/e.js': 'export const e = "import x from \'y\'"',
        'node_modules/plain/package.json': '{"name":"plain","main":"index.js"}',
        'node_modules/plain/index.js': '// empty',
      },
      'a.ts',
    )
    expect(bodies['/pages/a.js']).toBe(
      "import {\n  c,\n} from '/pages/@t/own/rules/c.js'\nexport * from '/pages/@t/lib/src/d.js'\nimport '/pages/plain/index.js'\n",
    )
    expect(bodies['/pages/@t/lib/src/d.js']).toBe('export { e } from "/pages/@t/lib/src/deep/e.js"')
    expect(Object.keys(bodies)).toHaveLength(5)
  })

  test('a file of JSON is a module with that value, without an attribute that older browsers do not read', () => {
    expect(
      served(
        {
          'page/a.ts': "import words from './words.json' with { type: 'json' }\nuse(words)\n",
          'page/words.json': '{ "one": "un" }\n',
        },
        'a.ts',
      ),
    ).toEqual({
      '/pages/a.js': "import words from '/pages/words.json.js'\nuse(words)\n",
      '/pages/words.json.js': 'export default { "one": "un" }\n',
    })
  })

  test('type-only imports are dropped, and what they name is not served', () => {
    const bodies = served(
      {
        'page/a.ts':
          "import type { A } from './types.ts'\nimport { type B } from 'node:fs'\nexport { type C } from './gone.ts'\nexport const a: A | B = 1\n",
      },
      'a.ts',
    )
    expect(Object.keys(bodies)).toEqual(['/pages/a.js'])
    expect(bodies['/pages/a.js']).not.toMatch(/import|from/)
  })

  test('modules loaded on demand are served as well', () => {
    const bodies = served(
      { 'page/a.ts': "const { b } = await import('./b.ts')\n", 'page/b.ts': 'export const b = 1' },
      'a.ts',
    )
    expect(bodies['/pages/a.js']).toBe("const { b } = await import('/pages/b.js')\n")
    expect(bodies).toHaveProperty(['/pages/b.js'])
  })

  test('import-like words in comments and strings are left alone', () => {
    const text = "export const a = 1\n// taken from 'b'\nexport const c = `\n  import d from 'e'`\n"
    expect(served({ 'page/a.ts': text }, 'a.ts')).toEqual({ '/pages/a.js': text })
  })

  test('modules that import each other are served once each, and so is one named by two entries', () => {
    const files = {
      'page/a.ts': "import './b.ts'\nimport './c.ts'\n",
      'page/b.ts': "import './a.ts'\nimport './c.ts'\n",
      'page/c.ts': "import './c.ts'\n",
    }
    const modules = ownModules(files, 'a.ts', 'b.ts')
    expect(modules.map(({ paths }) => paths)).toEqual([
      ['/pages/a.js'],
      ['/pages/b.js'],
      ['/pages/c.js'],
    ])
  })

  test('a validator follows the body: the same text gets the same one, another text another', () => {
    expect(readEtag('export const a = 1')).toMatch(/^"[\w-]{43}"$/)
    expect(readEtag('export const a = 1')).toBe(readEtag('export const a = 1'))
    expect(readEtag('export const a = 1')).not.toBe(readEtag('export const a = 2'))
  })

  test('whatever imports what, exactly what the entries reach is served and imported', () => {
    const edges = fc.array(fc.tuple(fc.nat(5), fc.nat(5)), { maxLength: 15 })
    fc.assert(
      fc.property(edges, (pairs) => {
        const listImports = (from: number) => pairs.filter(([importer]) => importer === from)
        const files = Object.fromEntries(
          [0, 1, 2, 3, 4, 5].map((number) => [
            `page/m${number}.ts`,
            listImports(number)
              .map(([, to]) => `import './m${to}.ts'\n`)
              .join(''),
          ]),
        )
        const reached = new Set([0])
        for (const number of reached) for (const [, to] of listImports(number)) reached.add(to)
        const bodies = served(files, 'm0.ts')
        expect(Object.keys(bodies).toSorted()).toEqual(
          [...reached].map((number) => `/pages/m${number}.js`).toSorted(),
        )
        for (const body of Object.values(bodies))
          for (const [, path = ''] of body.matchAll(/'(.+)'/g))
            expect(bodies).toHaveProperty([path])
      }),
      { numRuns: 30 },
    )
  })
})

describe('what cannot be served stops the start, with the chain of imports', () => {
  test('a module that needs Node', () => {
    const files = {
      'page/a.ts': "import './b.ts'\n",
      'page/b.ts': "import '../rules/c.ts'\n",
      'rules/c.ts': "import { hash } from 'node:crypto'\nexport const c = hash",
    }
    expect(() => served(files, 'a.ts')).toThrow(
      'A page cannot load node:crypto: /pages/a.js → /pages/b.js → /pages/@t/own/rules/c.js → node:crypto',
    )
  })

  test('a module that is not there', () => {
    expect(() => served({ 'page/a.ts': "import './b.ts'" }, 'a.ts')).toThrow('/pages/a.js → ./b.ts')
    expect(() => served({ 'page/a.ts': "import 'nothing'" }, 'a.ts')).toThrow(
      '/pages/a.js → nothing',
    )
    expect(() => served({ 'page/a.ts': '' }, 'other.ts')).toThrow('/pages/other.js')
  })

  test.each([
    'const a = [2, 1].toSorted()',
    "const a = 'x'.isWellFormed()",
    'const a = AbortSignal.any([])',
    'const a = AbortSignal.timeout(1)',
    'const a = new TextDecoderStream()',
    'const a = Map.groupBy([], String)',
    'const a = /(?<=b)c/',
  ])('C39: a module that a browser of 2022 lacks something for: %s', (text) => {
    const files = { 'page/a.ts': "import './b.ts'\n", 'page/b.ts': text }
    expect(() => served(files, 'a.ts')).toThrow(
      /^A page cannot use .*, which browsers lack: \/pages\/a\.js → \/pages\/b\.js$/,
    )
  })
})
