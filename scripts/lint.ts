/**
 * Runs oxlint, except on workspaces that have passed with the same files, their own and those of the workspaces that they
 * declare. No rule sees further (e2e/src/import-rules.test.ts). e2e, bench and scripts import from anywhere and are never
 * left out. Part of `npm run check`.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const PASSED_FILE = 'node_modules/.cache/lint.json'
const WORKSPACE = /^(?:contracts|(?:packages|services)\/[^/]+)(?=\/)/
/** The root's files except prose: settings and versions. */
const SETTINGS = /^[^/]+(?<!\.md)$/

const Versions = z.record(z.string(), z.string()).default({})
const Manifest = z.object({ name: z.string(), dependencies: Versions, devDependencies: Versions })

type Workspace = {
  readonly folder: string
  readonly name: string
  /** Names of packages, not only ours. */
  readonly declares: readonly string[]
  /** Of its own files. */
  readonly hash: string
}

function hashFile(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

const hashOfFiles = (paths: readonly string[]): string =>
  hashFile(paths.flatMap((path) => [path, readFileSync(path, 'base64')]))

function workspaceIn(folder: string, paths: readonly string[]): Workspace {
  const text = readFileSync(`${folder}/package.json`, 'utf8')
  const { name, dependencies, devDependencies } = Manifest.parse(JSON.parse(text))
  const declares = Object.keys({ ...dependencies, ...devDependencies })
  return { folder, name, declares, hash: hashOfFiles(paths) }
}

/** The workspace and all that it declares, directly or not. */
function withDeclared(start: Workspace, workspaces: readonly Workspace[]): readonly Workspace[] {
  const found = new Set([start])
  for (const { declares } of found)
    for (const other of workspaces) if (declares.includes(other.name)) found.add(other)
  return [...found]
}

/** A hash by folder of all files that lint can see from there. */
function visibleHashes(): Readonly<Record<string, string>> {
  const listed = execFileSync('git', ['ls-files', '-coz', '--exclude-standard'], {
    encoding: 'utf8',
  })
  const paths = listed.split('\0').filter((path) => existsSync(path) && path !== '')
  const settings = hashOfFiles(paths.filter((path) => SETTINGS.test(path)))
  const workspaces = [...Map.groupBy(paths, (path) => WORKSPACE.exec(path)?.[0])].flatMap(
    ([folder, own]) => (folder === undefined ? [] : workspaceIn(folder, own)),
  )
  return Object.fromEntries(
    workspaces.map((workspace) => {
      const seen = withDeclared(workspace, workspaces).map(({ folder, hash }) => folder + hash)
      return [workspace.folder, hashFile([settings, ...seen.toSorted()])]
    }),
  )
}

const passed = existsSync(PASSED_FILE)
  ? z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(PASSED_FILE, 'utf8')))
  : {}
const hashes = visibleHashes()
const leftOut = Object.keys(hashes).filter((folder) => passed[folder] === hashes[folder])
const options = leftOut.flatMap((folder) => ['--ignore-pattern', `${folder}/**`])
const { status } = spawnSync('oxlint', options, { stdio: 'inherit' })
if (status === 0) {
  mkdirSync(dirname(PASSED_FILE), { recursive: true })
  writeFileSync(PASSED_FILE, JSON.stringify(hashes))
}
process.exitCode = status ?? 1
