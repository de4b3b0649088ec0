/**
 * TypeScript for browsers without a bundler: starting from a service's own modules it follows their imports, also into pure
 * modules of the server and of packages, takes the types out and gives each module a path of its own under `/pages/`.
 */
import { readFileSync, realpathSync } from 'node:fs'
import { createRequire, findPackageJSON, isBuiltin, stripTypeScriptTypes } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { PAGE_TYPES, type PageFile, pageFile } from './page-routes.ts'

/**
 * The specifier of a static import or re-export at the beginning of a line, or of an import that is awaited; once the types
 * are out, nothing but names stands before `from`.
 */
const SPECIFIER =
  /(?<=^(?:import|export)\b(?:[\w$*{},\s]*\bfrom)?\s*(['"]))[^'"\n]+(?=\1)|(?<=\bawait import\((['"]))[^'"\n]+(?=\2\))/gm
/** What is left of an import or re-export of nothing but types. */
const OF_NOTHING = /^(?:import|export)\s*\{[\s,]*\}\s*from\s*(['"])[^'"\n]+\1;?/gm

type Module = {
  readonly file: string
  /** Where it is served. */
  readonly path: string
  readonly importedBy: Module | undefined
}

const built = new Map<string, readonly PageFile[]>()

/**
 * The modules of a page's scripts as they are served, each once, under one path: those below `root` by their names there
 * (`echo.ts` at `/pages/echo.js`), all others by package and file. They are read once in a process.
 *
 * @param options `root` ends with a slash; `entries` are names below it.
 * @throws Error with the chain of imports where a module needs Node or is not there.
 */
export function browserModules(options: {
  readonly root: URL
  readonly entries: readonly string[]
}): readonly PageFile[] {
  const key = [options.root.href, ...options.entries].join(' ')
  const files = built.get(key) ?? readModules(options)
  built.set(key, files)
  return files
}

function readModules(options: {
  readonly root: URL
  readonly entries: readonly string[]
}): readonly PageFile[] {
  const root = realpathSync(fileURLToPath(options.root))
  const found = new Map<string, Module>()
  const add = (file: string, importedBy?: Module): Module => {
    const module = found.get(file) ?? { file, path: servedPath(file, root), importedBy }
    found.set(file, module)
    return module
  }
  for (const entry of options.entries) add(join(root, entry))
  // A map may grow while it is walked.
  return Array.from(found.values(), (module) => {
    const body = scriptOf(module)
      .replaceAll(OF_NOTHING, '')
      .replaceAll(SPECIFIER, (specifier) => add(fileOf(specifier, module), module).path)
    return pageFile([module.path], PAGE_TYPES.js, body)
  })
}

/** How a module came to be served, from the entry on. */
function chainOf(module: Module): string {
  const before = module.importedBy === undefined ? '' : `${chainOf(module.importedBy)} → `
  return `${before}${module.path}`
}

function scriptOf(module: Module): string {
  try {
    const text = readFileSync(module.file, 'utf8')
    return module.file.endsWith('.ts') ? withoutTypes(text) : text
  } catch (cause) {
    throw new Error(`A page's module cannot be read: ${chainOf(module)}`, { cause })
  }
}

/** Types become blanks, so that lines and columns stay. */
function withoutTypes(text: string): string {
  // Node says on stderr that this function is experimental, which is nothing to whoever runs a service.
  const warn = process.emitWarning.bind(process)
  process.emitWarning = () => undefined
  try {
    return stripTypeScriptTypes(text, { mode: 'strip' })
  } finally {
    process.emitWarning = warn
  }
}

function fileOf(specifier: string, importer: Module): string {
  if (isBuiltin(specifier))
    throw new Error(`A page cannot load ${specifier}: ${chainOf(importer)} → ${specifier}`)
  try {
    return specifier.startsWith('.')
      ? realpathSync(join(dirname(importer.file), specifier))
      : createRequire(importer.file).resolve(specifier)
  } catch (cause) {
    throw new Error(`A page's module is missing: ${chainOf(importer)} → ${specifier}`, { cause })
  }
}

function servedPath(file: string, root: string): string {
  const inRoot = relative(root, file)
  const name = inRoot.startsWith('..') ? nameInPackage(file) : inRoot
  return `/pages/${name.split(sep).join('/').replace(/\.ts$/, '.js')}`
}

function nameInPackage(file: string): string {
  const manifest = findPackageJSON(pathToFileURL(file))
  if (manifest === undefined) throw new Error(`${file} belongs to no package.`)
  const { name } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly name: string }
  return join(name, relative(dirname(manifest), file))
}
