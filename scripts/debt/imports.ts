/**
 * Who imports what, read from the text, which suffices for code formatted by biome. Imports of our packages resolve
 * through `exports` of their package.json, those of pages (`/browser/x.js`) by file name.
 */
import { posix } from 'node:path'
import type { SourceFile } from './source-files.ts'

type Import = { readonly target: string; readonly names: readonly string[] }
/** Paths by import specifier: `@tallystick/x402/evm` to its file. */
export type Entries = ReadonlyMap<string, string>

/** Stands for every name: `import *`, `import()` and imports without names. */
const ALL = '*'
const IMPORT =
  /^(import|export)(?: type)? (?:([\w*][\w ,]*?)?,? ?(?:\{([^}]*)\} ?)?from )?'([^'\n]+)'|\bimport\('([^'\n]+)'\)|new URL\('([^'\n]+)', import\.meta\.url\)/gm
const DECLARED =
  /^export (?:async function\*?|function\*?|const|let|class|abstract class|type|interface) ([\w$]+)/gm
const LISTED = /^export (?:type )?\{([^}]*)\}/gm
/** Read by vitest, not by us. */
const SETTINGS = /(?:^|\/)(?:vitest\.[\w.]+|[\w-]+\.setup\.ts)$/

/** `type A, b as c` as pairs of the exported and the local name. */
function namePairs(list: string): readonly { readonly there: string; readonly here: string }[] {
  return list
    .split(',')
    .map((part) => part.trim().replace(/^type /, ''))
    .filter((part) => part !== '')
    .map((part) => {
      const [there = '', here = there] = part.split(/ as /)
      return { there, here }
    })
}

function resolved(from: string, target: string, entries: Entries): string | undefined {
  if (target.startsWith('.')) return posix.normalize(posix.join(posix.dirname(from), target))
  return entries.get(target) ?? entries.get(posix.basename(target))
}

/** What a file imports, types included. */
export function listImports({ path, text }: SourceFile, entries: Entries): readonly Import[] {
  return [...text.matchAll(IMPORT)].flatMap(([, , whole, list, from, called, located]) => {
    const target = resolved(path, from ?? called ?? located ?? '', entries)
    if (target === undefined) return []
    const names = list === undefined || whole !== undefined ? [ALL] : []
    const listed = namePairs(list ?? '').map(({ there }) => there)
    return { target, names: [...names, ...listed] }
  })
}

function exportedNames(text: string): readonly string[] {
  const declared = [...text.matchAll(DECLARED)].map(([, name = '']) => name)
  const listed = [...text.matchAll(LISTED)].flatMap(([, list = '']) => namePairs(list))
  return [...declared, ...listed.map(({ here }) => here)]
}

/** Code in documents: it uses what it imports. */
function shownCode({ path, text }: SourceFile): SourceFile {
  return {
    path,
    text: [...text.matchAll(/^```.*\n([^]*?)^```/gm)].map(([, code]) => code).join(''),
  }
}

/** The workspace's entry points: what each package.json exports, and page modules by name. */
export function readEntries(
  manifests: readonly SourceFile[],
  files: readonly SourceFile[],
): Entries {
  const entries = new Map<string, string>()
  for (const { path } of files.filter((file) => file.path.includes('/pages/'))) {
    entries.set(posix.basename(path), path)
  }
  for (const { path, text } of manifests) {
    const { name, exports } = JSON.parse(text)
    for (const [door, target] of Object.entries(exports ?? {})) {
      const file = typeof target === 'string' ? target : Object.values(target ?? {})[0]
      const inside = posix.join(posix.dirname(path), String(file))
      entries.set(posix.join(String(name), door), inside)
    }
  }
  return entries
}

/** Exports that no other file imports, as `path: name`; what an index re-exports needs a user outside its package. */
export function unusedExports(
  files: readonly SourceFile[],
  { entries, documents }: { entries: Entries; documents: readonly SourceFile[] },
): readonly string[] {
  const used = new Map<string, Set<string>>()
  for (const file of [...files, ...documents.map(shownCode)]) {
    for (const { target, names } of listImports(file, entries)) {
      used.set(target, new Set([...(used.get(target) ?? []), ...names]))
    }
  }
  return files.flatMap(({ path, text }) => {
    const users = used.get(path)
    if (users?.has(ALL) || SETTINGS.test(path)) return []
    return exportedNames(text)
      .filter((name) => users?.has(name) !== true)
      .map((name) => `${path}: ${name}`)
  })
}
