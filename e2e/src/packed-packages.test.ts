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

/** All that is not private. */
const FOLDERS = [
  'contracts',
  'packages/agent',
  'packages/devnet',
  'packages/facilitator',
  'packages/hashchain',
  'packages/issuer',
  'packages/journal-store',
  'packages/jwt-lite',
  'packages/odds',
  'packages/service-kit',
  'packages/x402',
] as const

/** What npm says of itself, not of a package. */
const OF_NPM = /Unknown (?:user|env|project) config|requires you to be logged in|npm notice/

const folder = mkdtempSync(join(tmpdir(), 'packed-'))
const packed = new Map<string, ReturnType<typeof packInto>>()
const findPacked = (workspaceFolder: string) => {
  const found = packed.get(workspaceFolder)
  if (found === undefined) throw new Error(`${workspaceFolder} was not packed`)
  return found
}

beforeAll(() => {
  for (const from of FOLDERS) packed.set(from, packInto(folder, from))
  // What they declare, as the workspace has it installed, so that no test waits for a registry.
  for (const from of FOLDERS)
    for (const name of Object.keys({
      ...findPacked(from).manifest.dependencies,
      ...findPacked(from).manifest.peerDependencies,
    })) {
      const place = join(folder, 'node_modules', name)
      if (name.startsWith('@tallystick/')) continue
      rmSync(place, { force: true })
      mkdirSync(dirname(place), { recursive: true })
      symlinkSync(realpathSync(join(root, from, 'node_modules', name)), place)
    }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The packages that a file of JavaScript imports. */
const listImports = (text: string): readonly string[] =>
  [
    ...text.matchAll(/^(?:import|export)\b[^'"]*?\bfrom ['"]([^'".][^'"]*)['"]/gm),
    ...text.matchAll(/\bimport\(['"]([^'".][^'"]*)['"]\)/g),
    ...text.matchAll(/^import ['"]([^'".][^'"]*)['"]/gm),
  ].flatMap(([, name]) => name ?? [])

const findPackage = (name: string): string =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')

describe.each(FOLDERS)('%s', (workspaceFolder) => {
  it('npm publish --dry-run is clean', () => {
    const line = ['publish', '--dry-run', '--offline', findPacked(workspaceFolder).tarball]
    const { status, stderr } = spawnSync('npm', line, { cwd: folder, encoding: 'utf8' })
    const said = stderr.split('\n').filter((text) => text !== '' && !OF_NPM.test(text))
    expect([status, said]).toEqual([0, []])
  })

  it('holds its README, its licence and what was compiled, and no test', () => {
    const { files } = findPacked(workspaceFolder)
    expect(files).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'package.json']))
    expect(files.filter((file) => /\.(?:test|fixture|contract|bench)\./.test(file))).toEqual([])
    const known =
      /^(?:README\.md|LICENSE|package\.json|vectors\/.+\.json|(?:dist|src)\/.+\.(?:js|ts|d\.ts\.map|sol|css|svg|sql))$/
    const strange = files.filter((file) => !known.test(file))
    expect(strange).toEqual([])
  })

  it('exports only files that are there, and says which Node it needs and what it is for', () => {
    const { files, manifest } = findPacked(workspaceFolder)
    const targets = Object.values(manifest.exports).flatMap((target) =>
      typeof target === 'string' ? target : [target.types, target.default],
    )
    expect(targets).toContain('./package.json')
    for (const target of [...targets, ...Object.values(manifest.bin ?? {})])
      expect(files).toContain(target.replace('./', ''))
    expect(manifest.engines?.node).toMatch(/^>=\d+$/)
    expect(manifest.keywords?.length).toBeGreaterThan(2)
    expect(JSON.stringify({ ...manifest, devDependencies: {} })).not.toMatch(/workspace:|catalog:/)
  })

  it('leads an editor from its types to their source', () => {
    const { files, place } = findPacked(workspaceFolder)
    if (workspaceFolder === 'contracts') return
    for (const map of files.filter((file) => file.endsWith('.d.ts.map'))) {
      const { sources } = JSON.parse(readFileSync(join(place, map), 'utf8')) as {
        sources: string[]
      }
      for (const source of sources) expect(files).toContain(join(dirname(map), source))
    }
    expect(files.some((file) => file.endsWith('.d.ts.map'))).toBe(true)
  })

  it('lets a shop bring its own version of what shops have', () => {
    const { dependencies, peerDependencies } = findPacked(workspaceFolder).manifest
    const wanted = { ...dependencies, ...peerDependencies }
    for (const name of ['fastify', 'pino', 'viem', 'zod', '@x402/core', 'express', 'hono'])
      expect(wanted[name] ?? '^').toMatch(/^\^/)
  })

  it('imports only what it declares', () => {
    const { files, manifest, place } = findPacked(workspaceFolder)
    const declared = { ...manifest.dependencies, ...manifest.peerDependencies }
    // A declaration needs the types of what it names, which for some are a package of their own.
    const typesMissing = (file: string, name: string): boolean => {
      const types = `@types/${findPackage(name)}`
      return (
        file.endsWith('.d.ts') &&
        manifest.devDependencies?.[types] !== undefined &&
        declared[types] === undefined
      )
    }
    const missing = files
      .filter((file) => file.endsWith('.js') || file.endsWith('.d.ts'))
      .flatMap((file) =>
        listImports(readFileSync(join(place, file), 'utf8'))
          .filter((name) => !isBuiltin(name))
          .filter((name) => declared[findPackage(name)] === undefined || typesMissing(file, name)),
      )
    expect([...new Set(missing)]).toEqual([])
  })

  it('its README leads nowhere that npm cannot show', () => {
    const text = readFileSync(join(findPacked(workspaceFolder).place, 'README.md'), 'utf8')
    expect([...text.matchAll(/\]\((?!https?:|#)[^)]*\)/g)].map(([link]) => link)).toEqual([])
    expect(text).toMatch(/^# @tallystick\//)
  })

  it('its README names nothing that is not in it', () => {
    const { files, manifest, place } = findPacked(workspaceFolder)
    const text = readFileSync(join(place, 'README.md'), 'utf8')
    const paths = [...text.matchAll(/`((?:src|vectors|dist)\/[\w./-]+\.\w+)`/g)].map(
      ([, path]) => path,
    )
    expect(paths.filter((path) => !files.includes(path ?? ''))).toEqual([])
    const entries = [...text.matchAll(new RegExp(`${manifest.name}(/[a-z0-9-]+)`, 'g'))]
    const strange = entries.filter(([, entry]) => manifest.exports[`.${entry}`] === undefined)
    expect(strange.map(([name]) => name)).toEqual([])
  })

  const entry = (): string =>
    `await import(${JSON.stringify(findPacked(workspaceFolder).manifest.name)}); console.log('loaded')`

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
      const { place } = findPacked('packages/journal-store')
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

const SENDING = `
import { startDevnet } from '@tallystick/devnet'
import { createWalletClient, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { hederaTestnet } from 'viem/chains'

const devnet = await startDevnet()
const { privateKey, evmAddress } = await devnet.createAccount({ name: 'payer', balanceTinybar: 500_000_000n })
const account = privateKeyToAccount(privateKey)
const client = createWalletClient({ account, chain: hederaTestnet, transport: http(devnet.rpcUrl) }).extend(publicActions)
const hash = await client.sendTransaction({ to: evmAddress, value: 10n ** 18n })
console.log((await client.waitForTransactionReceipt({ hash })).status)
await devnet.stop()
`

describe('a stranger’s local ledger', () => {
  for (const variable of OTHER_NODES)
    it(`takes a signed transaction with the Node of ${variable}`, ({ skip }) => {
      const node = process.env[variable] ?? skip(`${variable} names no other Node`)
      expect(run(node, ['--input-type=module', '--eval', SENDING], folder)).toBe('success\n')
    })
})

describe('a stranger’s shop', () => {
  strangersShopTests(() => findPacked('packages/x402'))
})
