/** A package as npm gets it: compiled, packed by pnpm, and unpacked into a folder outside the workspace. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './spawned-stack.ts'

export const run = (command: string, line: readonly string[], cwd: string): string =>
  execFileSync(command, line, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

type Manifest = {
  readonly name: string
  /** A file by itself, or with its types. */
  readonly exports: Readonly<
    Record<string, string | { readonly types: string; readonly default: string }>
  >
  readonly bin?: Readonly<Record<string, string>>
  readonly engines?: { readonly node?: string }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly keywords?: readonly string[]
}

export type PackedPackage = {
  readonly tarball: string
  /** Where it lies, as in a `node_modules`. */
  readonly place: string
  readonly manifest: Manifest
  /** Paths in the package. */
  readonly files: readonly string[]
}

/** Packs a folder of the workspace as in a clean clone, and unpacks it into `node_modules` of another. */
export function packInto(folder: string, workspaceFolder: string): PackedPackage {
  const from = join(root, workspaceFolder)
  // What an earlier build left is no part of the package: packing makes what it packs.
  rmSync(join(from, 'dist'), { recursive: true, force: true })
  const { name, version } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as {
    readonly name: string
    readonly version: string
  }
  // The workspace's own: within a run of all tests npx takes over a minute to find out that it need not be fetched.
  run(join(root, 'node_modules/.bin/pnpm'), ['pack', '--pack-destination', folder], from)
  const tarball = join(folder, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`)
  const place = unpackInto(folder, { name, tarball })
  const manifest = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as Manifest
  const files = readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(place.length + 1))
  return { tarball, place, manifest, files }
}

/** Unpacks a tarball into `node_modules` of a folder, and returns its place. */
export function unpackInto(
  folder: string,
  { name, tarball }: { readonly name: string; readonly tarball: string },
): string {
  const place = join(folder, 'node_modules', name)
  mkdirSync(place, { recursive: true })
  run('tar', ['-xzf', tarball, '-C', place, '--strip-components=1'], folder)
  return place
}

/** Other Nodes than the one that runs the tests, by the variable that names their binary. */
export const OTHER_NODES = ['NODE_22', 'NODE_24'] as const
