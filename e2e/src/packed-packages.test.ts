// What `npm publish` would send of the packages that others install: whole, nothing else, and usable as it is.
import { spawnSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { postgresMissing, runSql, startPostgres } from '@tallystick/journal-store/postgres-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { strangersShopTests } from './packed/strangers-shop.suite.ts'
import { OTHER_NODES, packInto, run } from './packed-package.ts'
import { root } from './spawned-stack.ts'

/** The five, and what the agent cannot do without. */
const FOLDERS = [
  'packages/hashchain',
  'packages/odds',
  'packages/jwt-lite',
  'packages/x402',
  'contracts',
  'packages/agent',
] as const

/** What npm says of itself, not of a package. */
const OF_NPM = /Unknown (?:user|env|project) config|requires you to be logged in|npm notice/

const folder = mkdtempSync(join(tmpdir(), 'packed-'))
const packed = new Map<string, ReturnType<typeof packInto>>()
const of = (workspaceFolder: string) => {
  const found = packed.get(workspaceFolder)
  if (found === undefined) throw new Error(`${workspaceFolder} was not packed`)
  return found
}

beforeAll(() => {
  for (const one of FOLDERS) packed.set(one, packInto(folder, one))
  // What they declare, as the workspace has it installed, so that no test waits for a registry.
  for (const one of FOLDERS)
    for (const name of Object.keys(of(one).manifest.dependencies ?? {})) {
      const place = join(folder, 'node_modules', name)
      if (name.startsWith('@tallystick/')) continue
      rmSync(place, { force: true })
      mkdirSync(dirname(place), { recursive: true })
      symlinkSync(realpathSync(join(root, one, 'node_modules', name)), place)
    }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The packages that a file of JavaScript imports. */
const importsOf = (text: string): readonly string[] =>
  [
    ...text.matchAll(/^(?:import|export)\b[^'"]*?\bfrom ['"]([^'".][^'"]*)['"]/gm),
    ...text.matchAll(/\bimport\(['"]([^'".][^'"]*)['"]\)/g),
    ...text.matchAll(/^import ['"]([^'".][^'"]*)['"]/gm),
  ].flatMap(([, name]) => name ?? [])

const packageOf = (name: string): string =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')

describe.each(FOLDERS)('%s', (workspaceFolder) => {
  it('npm publish --dry-run is clean', () => {
    const line = ['publish', '--dry-run', '--offline', of(workspaceFolder).tarball]
    const { status, stderr } = spawnSync('npm', line, { cwd: folder, encoding: 'utf8' })
    const said = stderr.split('\n').filter((text) => text !== '' && !OF_NPM.test(text))
    expect([status, said]).toEqual([0, []])
  })

  it('holds its README, its licence and what was compiled, and no test', () => {
    const { files } = of(workspaceFolder)
    expect(files).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'package.json']))
    expect(files.filter((file) => /\.(?:test|fixture|contract|bench)\./.test(file))).toEqual([])
    const strange = files.filter(
      (file) =>
        !/^(?:README\.md|LICENSE|package\.json|vectors\/.+\.json|dist\/.+\.(?:js|d\.ts)|src\/.+\.sol)$/.test(
          file,
        ),
    )
    expect(strange).toEqual([])
  })

  it('exports only files that are there, and says which Node it needs', () => {
    const { files, manifest } = of(workspaceFolder)
    const targets = Object.values(manifest.exports).flatMap((one) => [one.types, one.default])
    for (const target of [...targets, ...Object.values(manifest.bin ?? {})])
      expect(files).toContain(target.replace('./', ''))
    expect(manifest.engines?.node).toMatch(/^>=\d+$/)
    expect(JSON.stringify(manifest)).not.toMatch(/workspace:|catalog:/)
  })

  it('imports only what it declares', () => {
    const { files, manifest, place } = of(workspaceFolder)
    const declared = { ...manifest.dependencies, ...manifest.peerDependencies }
    const missing = files
      .filter((file) => file.endsWith('.js') || file.endsWith('.d.ts'))
      .flatMap((file) => importsOf(readFileSync(join(place, file), 'utf8')))
      .filter((name) => !isBuiltin(name) && declared[packageOf(name)] === undefined)
    expect([...new Set(missing)]).toEqual([])
  })

  it('its README leads nowhere that npm cannot show', () => {
    const text = readFileSync(join(of(workspaceFolder).place, 'README.md'), 'utf8')
    expect([...text.matchAll(/\]\((?!https?:|#)[^)]*\)/g)].map(([link]) => link)).toEqual([])
    expect(text).toMatch(/^# @tallystick\//)
  })

  const entry = (): string =>
    `await import(${JSON.stringify(of(workspaceFolder).manifest.name)}); console.log('loaded')`

  it('loads as it was packed', () => {
    const line = ['--input-type=module', '--eval', entry()]
    expect(run(process.execPath, line, folder)).toBe('loaded\n')
  })

  for (const variable of OTHER_NODES)
    it(`loads with the Node of ${variable}`, ({ skip }) => {
      const node = process.env[variable] ?? skip(`${variable} names no other Node`)
      expect(run(node, ['--input-type=module', '--eval', entry()], folder)).toBe('loaded\n')
    })
})

describe.skipIf(postgresMissing !== undefined)(
  `packages/journal-store${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    it('brings what every store on PostgreSQL has, and makes it', async () => {
      const { place } = packInto(folder, 'packages/journal-store', 'built')
      const driver = realpathSync(join(root, 'packages/journal-store/node_modules/pg'))
      symlinkSync(driver, join(folder, 'node_modules/pg'))
      const server = startPostgres()
      try {
        const { owner } = await server.database()
        const script = `import { migratePostgresStore } from '@tallystick/journal-store/postgres'
          const kind = { schema: 'diary', appRole: 'diary_app', journals: {}, migrations: ['CREATE TABLE days (day int)'], Unavailable: Error }
          await migratePostgresStore(kind, { url: ${JSON.stringify(owner)}, pause: async () => {} })`
        run(process.execPath, ['--input-type=module', '--eval', script], folder)
        const { rows } = await runSql(
          owner,
          "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'diary' ORDER BY 1",
        )
        const tables = ['days', 'journal_writers', 'journals', 'leases', 'meta', 'processes']
        expect(rows.map(({ name }) => name)).toEqual(tables)
        expect(readdirSync(join(place, 'dist')).filter((name) => name.endsWith('.sql'))).toEqual([
          'postgres-journals.schema.sql',
        ])
      } finally {
        server.end()
      }
    })
  },
)

describe('a stranger’s shop', () => {
  strangersShopTests(() => of('packages/x402'))
})
