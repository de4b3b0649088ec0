import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'

/** The workspace's package folders (pnpm-workspace.yaml). */
const PACKAGE_FOLDERS = ['contracts', 'packages', 'services']
/** What a root needs besides the packages: the files the lockfile covers, the licence, and documents that care serves. */
const ROOT_FILES = [
  '.pnpmfile.cjs',
  'LICENSE',
  'CHANGELOG.md',
  'ARCHITECTURE.md',
  'README.md',
  'SECURITY.md',
  'package.json',
  'pnpm-lock.yaml',
  'pnpm-workspace.yaml',
]
/** Made by tools, or only used by tests and by the compiler of the contracts. */
const LEFT_OUT = new Set([
  '.turbo',
  'cache',
  'coverage',
  'dist',
  'node_modules',
  'out',
  'reports',
  'snapshots',
  'test',
  'testing',
  'vitest.config.ts',
])
const TEST_FILE = /\.(test|fixture|contract)\.[jt]s$/

/** A package.json of this repository. It is read without a library, because in an image nothing is installed yet. */
type Manifest = { readonly name: string; readonly dependencies?: Readonly<Record<string, string>> }

function listPackages(root: string): ReadonlyMap<string, string> {
  const parents = PACKAGE_FOLDERS.map((name) => join(root, name))
  const folders = parents.flatMap((parent) => [
    parent,
    ...readdirSync(parent).map((name) => join(parent, name)),
  ])
  const withManifest = folders.filter((folder) => existsSync(join(folder, 'package.json')))
  return new Map(withManifest.map((folder) => [readManifest(folder).name, folder]))
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

/** The package and all workspace packages it depends on at run time. */
function findClosure(packageName: string, folders: ReadonlyMap<string, string>): readonly string[] {
  const names = new Set([packageName])
  for (const name of names) {
    const folder = folders.get(name)
    if (folder === undefined) throw new Error(`the workspace has no package ${name}`)
    for (const [dependency, version] of Object.entries(readManifest(folder).dependencies ?? {}))
      if (version.startsWith('workspace:')) names.add(dependency)
  }
  return [...names]
}

/** Copies one package, its run-time dependencies and the lockfile. Returns the packages' names. */
export function copyWorkspace(options: {
  readonly root: string
  /** Created if absent. */
  readonly folder: string
  readonly packageName: string
}): readonly string[] {
  const { root, folder, packageName } = options
  const folders = listPackages(root)
  const names = findClosure(packageName, folders)
  mkdirSync(folder, { recursive: true })
  for (const name of ROOT_FILES) cpSync(join(root, name), join(folder, name))
  for (const name of names) {
    const source = folders.get(name) as string
    cpSync(source, join(folder, relative(root, source)), {
      recursive: true,
      filter: (path) => !LEFT_OUT.has(basename(path)) && !TEST_FILE.test(path),
    })
  }
  return names
}
