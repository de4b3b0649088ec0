/**
 * TypeScript for browsers without a bundler. Starting from a service's own modules, it follows their imports, even into
 * pure modules of the server and of packages, strips the types, and serves each module at its own path under `/pages/`. A file of
 * JSON is a module with that value.
 */
import { readFileSync, realpathSync } from 'node:fs'
import { createRequire, findPackageJSON, isBuiltin, stripTypeScriptTypes } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { PAGE_TYPES, type PageFile, pageFile } from './page-routes.ts'

/**
 * The specifier of a static import or re-export at the start of a line, or of an awaited import. Once types are stripped,
 * only names precede `from`.
 */
const SPECIFIER =
  /(?<=^(?:import|export)\b(?:[\w$*{},\s]*\bfrom)?\s*(['"]))[^'"\n]+(?=\1)|(?<=\bawait import\((['"]))[^'"\n]+(?=\2\))/gm
/** An attribute of an import, which browsers before 2024 do not read; its module is a script here. */
const JSON_ATTRIBUTE = /(?<=^import\b.*) with \{ type: 'json' \}/gm
/** A type-only import or re-export leaves this. */
const OF_NOTHING = /^(?:import|export)\s*\{[\s,]*\}\s*from\s*(['"])[^'"\n]+\1;?/gm

/**
 * Browsers that pages work in lack these (Safari 15.4, Chrome 103, Firefox 102; C39). When the oldest of them are of 2024, this
 * list is empty.
 */
const TOO_NEW =
  /\(\?<[=!]|\bAbortSignal\.(?:any|timeout)\b|\bTextDecoderStream\b|\.(?:toSorted|toReversed|toSpliced|findLast|findLastIndex|isWellFormed|toWellFormed|groupBy|withResolvers|fromAsync)\(|\bURL\.(?:parse|canParse)\(/

type Module = {
  readonly file: string
  /** Where it is served. */
  readonly path: string
  readonly importedBy: Module | undefined
}

const built = new Map<string, readonly PageFile[]>()

/**
 * The modules of a page's scripts as served, each once and at one path: those below `root` by their names there
 * (`echo.ts` at `/pages/echo.js`), all others by package and file. Each process reads them once.
 *
 * @param options `root` ends with a slash; `entries` are names below it.
 * @throws Error with the chain of imports if a module needs Node or does not exist.
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
  // A map may grow during iteration.
  return Array.from(found.values(), (module) => {
    const body = buildScript(module)
      .replaceAll(OF_NOTHING, '')
      .replaceAll(JSON_ATTRIBUTE, '')
      .replaceAll(SPECIFIER, (specifier) => add(findFile(specifier, module), module).path)
    const [tooNew] = TOO_NEW.exec(body) ?? []
    if (tooNew !== undefined)
      throw new Error(`A page cannot use ${tooNew}, which browsers lack: ${describeChain(module)}`)
    return pageFile([module.path], PAGE_TYPES.js, body)
  })
}

/** The chain of imports from the entry to this module. */
function describeChain(module: Module): string {
  const before = module.importedBy === undefined ? '' : `${describeChain(module.importedBy)} → `
  return `${before}${module.path}`
}

function buildScript(module: Module): string {
  try {
    const text = readFileSync(module.file, 'utf8')
    if (module.file.endsWith('.json')) return `export default ${text}`
    return module.file.endsWith('.ts') ? withoutTypes(text) : text
  } catch (cause) {
    throw new Error(`A page's module cannot be read: ${describeChain(module)}`, { cause })
  }
}

/** Types become blanks, so lines and columns stay the same. */
function withoutTypes(text: string): string {
  // Node warns on stderr that this function is experimental; operators need not see that.
  const warn = process.emitWarning.bind(process)
  process.emitWarning = () => undefined
  try {
    return stripTypeScriptTypes(text, { mode: 'strip' })
  } finally {
    process.emitWarning = warn
  }
}

function findFile(specifier: string, importer: Module): string {
  if (isBuiltin(specifier))
    throw new Error(`A page cannot load ${specifier}: ${describeChain(importer)} → ${specifier}`)
  try {
    return specifier.startsWith('.')
      ? realpathSync(join(dirname(importer.file), specifier))
      : createRequire(importer.file).resolve(specifier)
  } catch (cause) {
    throw new Error(`A page's module is missing: ${describeChain(importer)} → ${specifier}`, {
      cause,
    })
  }
}

function servedPath(file: string, root: string): string {
  const inRoot = relative(root, file)
  const name = inRoot.startsWith('..') ? nameInPackage(file) : inRoot
  return `/pages/${name
    .split(sep)
    .join('/')
    .replace(/\.ts$/, '.js')
    .replace(/\.json$/, '.json.js')}`
}

function nameInPackage(file: string): string {
  const manifest = findPackageJSON(pathToFileURL(file))
  if (manifest === undefined) throw new Error(`${file} belongs to no package.`)
  const { name } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly name: string }
  return join(name, relative(dirname(manifest), file))
}
