/**
 * ES modules of installed packages, served to browsers as they are: no bundler, and nothing fetched from elsewhere. A
 * bare specifier, which a browser cannot resolve without an inline import map (and the policy forbids inline scripts),
 * becomes the path under which the module is served.
 */
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'

/** Where modules of packages are served. */
const ROOT = '/pages/modules/'
/** A static import or re-export at the beginning of a line, not one in a comment; these packages have no other kind. */
const SPECIFIER = /(?<=^(?:import|export)\b[^'"]*\bfrom\s+['"])[^'"]+/gm

/** One module as it is served. */
export type LibraryModule = { readonly path: string; readonly body: string }

const isBare = (specifier: string): boolean => !/^[./]/.test(specifier)

/** A module's text with bare specifiers made paths. */
export function withServedSpecifiers(text: string): string {
  return text.replaceAll(SPECIFIER, (name) => (isBare(name) ? ROOT + name : name))
}

/** The specifiers of everything that a module's text imports, relative ones made whole. */
function importsOf(text: string, specifier: string): readonly string[] {
  const folder = posix.dirname(specifier)
  const named = [...text.matchAll(SPECIFIER)].map(([name]) => name)
  return named.map((name) => (isBare(name) ? name : posix.join(folder, name)))
}

/** The named modules (`package/file.js`) and all that they import. Throws where one is not installed. */
export function readLibraryModules(entries: readonly string[]): readonly LibraryModule[] {
  const specifiers = new Set(entries)
  const modules: LibraryModule[] = []
  // A set may grow while it is walked.
  for (const specifier of specifiers) {
    const text = readFileSync(new URL(fileOf(specifier)), 'utf8')
    for (const imported of importsOf(text, specifier)) specifiers.add(imported)
    modules.push({ path: ROOT + specifier, body: withServedSpecifiers(text) })
  }
  return modules
}

/** Modules that a package keeps to itself lie beside those that it exports. */
function fileOf(specifier: string): string {
  const [scope = '', name = '', ...rest] = specifier.split('/')
  const known = KNOWN_EXPORTS[`${scope}/${name}`]
  if (known === undefined) throw new Error(`${specifier} is of no package that may be served`)
  return new URL(rest.join('/'), import.meta.resolve(`${scope}/${name}/${known}`)).href
}

/** The packages that may be served, with a file of each one's root folder that it exports. */
const KNOWN_EXPORTS: Readonly<Record<string, string>> = {
  '@noble/curves': 'secp256k1.js',
  '@noble/hashes': 'sha3.js',
}
