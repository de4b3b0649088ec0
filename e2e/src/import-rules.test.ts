// CONTRIBUTING.md, "Who may import what", between the workspace's packages. oxlint checks the imports between the rooms
// of one service.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { root } from './spawned-stack.ts'

const SCOPE = '@tallystick/'

/** What each may import from the others at run time. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  contracts: [],
  'packages/hashchain': [],
  'packages/jwt-lite': [],
  'packages/journal-store': ['hashchain'],
  'packages/odds': [],
  'packages/page-testing': [],
  'packages/service-kit': [],
  'packages/x402': [],
  'packages/facilitator': ['service-kit', 'x402'],
  'packages/issuer': ['journal-store', 'jwt-lite', 'service-kit'],
  'packages/devnet': ['contracts', 'service-kit', 'x402'],
  'packages/agent': ['contracts', 'service-kit', 'x402'],
  'services/access': ['contracts', 'service-kit', 'x402'],
  'services/care': ['hashchain', 'journal-store', 'jwt-lite', 'service-kit'],
  'services/grading': ['hashchain', 'journal-store', 'jwt-lite', 'odds', 'service-kit', 'x402'],
}
/** They may import anything, from the package or from its folder. Scripts are the root's. */
const AROUND = ['bench', 'e2e', 'scripts']
/** Tools of the root, for the tests of every package. */
const TOOLS = ['typescript', 'vitest']
/** What every package's tests run with, by path from the root. */
const TEST_SETTINGS = 'vitest.package.ts'
/** Declared for types, a program or files, not for an import. */
const NOT_IMPORTED = /^@types\/|^@foundry-rs\/|^@layerzerolabs\/|^@openzeppelin\/|^solc$/

const Versions = z.record(z.string(), z.string()).default({})
const Manifest = z.object({
  name: z.string(),
  dependencies: Versions,
  devDependencies: Versions,
  peerDependencies: Versions,
})

function readManifest(folder: string): z.infer<typeof Manifest> {
  const file = join(root, folder === 'scripts' ? '' : folder, 'package.json')
  return Manifest.parse(JSON.parse(readFileSync(file, 'utf8')))
}

const listed = [
  'ls-files',
  '--cached',
  '--others',
  '--exclude-standard',
  '--',
  '*.ts',
  '*.mjs',
  '*.js',
]
const sources = execFileSync('git', listed, { cwd: root, encoding: 'utf8' }).split('\n')

/** Never published or installed: it may import its package's development dependencies. */
const isOfTests = (file: string): boolean =>
  /\.(test|fixture|contract|bench)\.[jt]s$|\/vitest\.config\.ts$|\/testing\/|^contracts\/scripts\//.test(
    file,
  )
/** Their imports are text, shown to a reader. */
const isShown = (file: string): boolean => file.endsWith('/pages/first-request.ts')

const IMPORT =
  /^(?:import|export)\b[^'"`;]*? from '([^'\n]+)'|^import '([^'\n]+)'|\b(?:import|url\)\.resolve|import\.meta\.resolve)\(\s*'([^'\n]+)',?\s*\)/gm

function listImports(file: string): readonly string[] {
  const found = readFileSync(join(root, file), 'utf8').matchAll(IMPORT)
  return [...found].map(([, named, bare, called]) => named ?? bare ?? called ?? '')
}

/** The packages, ours and npm's, that a file imports. */
function packagesIn(file: string): readonly string[] {
  if (isShown(file)) return []
  const outside = listImports(file).filter((target) => !/^(?:\.|\/|node:|file:)/.test(target))
  return outside.map((target) => {
    const [scope = '', name] = target.split('/')
    return scope.startsWith('@') ? `${scope}/${name}` : scope
  })
}

const sourcesIn = (folder: string): readonly string[] =>
  sources.filter((file) => file.startsWith(`${folder}/`))

/** Imports of packages that the importing package does not list. */
function undeclaredIn(folder: string): readonly string[] {
  const { name, dependencies, devDependencies, peerDependencies } = readManifest(folder)
  const isAround = AROUND.includes(folder)
  return sourcesIn(folder).flatMap((file) => {
    const isForTests = isAround || isOfTests(file)
    const declared = [dependencies, peerDependencies, isForTests ? devDependencies : {}]
    const permitted = [name, ...declared.flatMap(Object.keys), ...(isForTests ? TOOLS : [])]
    return packagesIn(file)
      .filter((target) => !permitted.includes(target))
      .map((target) => `${file}: ${target}`)
  })
}

/** Packages that a manifest names but nothing in its folder imports. */
function unusedIn(folder: string): readonly string[] {
  const { dependencies, devDependencies } = readManifest(folder)
  const imported = new Set(sourcesIn(folder).flatMap(packagesIn))
  return Object.keys({ ...dependencies, ...devDependencies }).filter(
    (name) => !imported.has(name) && !NOT_IMPORTED.test(name),
  )
}

describe.each(Object.entries(ALLOWED))('%s', (folder, allowed) => {
  it('depends only on the workspace packages it may import', () => {
    const { dependencies } = readManifest(folder)
    const ours = Object.keys(dependencies).filter((name) => name.startsWith(SCOPE))
    const permitted = allowed.map((name) => SCOPE + name)
    expect(ours.filter((name) => !permitted.includes(name))).toEqual([])
  })

  it('imports only declared packages; tests may use development dependencies', () => {
    expect(sourcesIn(folder)).not.toEqual([])
    expect(undeclaredIn(folder)).toEqual([])
  })

  it('declares only packages it imports', () => {
    expect(unusedIn(folder)).toEqual([])
  })

  it('imports no file of another package by its path', () => {
    const strays = sourcesIn(folder).flatMap((file) =>
      listImports(file)
        .filter((target) => target.startsWith('.'))
        .map((target) => normalize(join(dirname(file), target)))
        .filter((target) => !target.startsWith(`${folder}/`) && target !== TEST_SETTINGS)
        .map((target) => `${file}: ${target}`),
    )
    expect(strays).toEqual([])
  })
})

describe.each(AROUND)('%s', (folder) => {
  it('imports only declared packages', () => {
    expect(undeclaredIn(folder)).toEqual([])
  })
})

it('every package of the workspace has its rule', () => {
  const manifests = execFileSync('git', ['ls-files', '*package.json'], {
    cwd: root,
    encoding: 'utf8',
  })
  const folders = manifests
    .split('\n')
    .filter((file) => file.includes('/'))
    .map(dirname)
  expect(folders.toSorted()).toEqual([...Object.keys(ALLOWED), 'bench', 'e2e'].toSorted())
})
