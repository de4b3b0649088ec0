import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A committed file and its expected text. */
export type GeneratedFile = { readonly path: string; readonly text: string }

const read = (path: string): string =>
  existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : ''

/** A file whose whole text is generated. */
export function wholeFile(path: string, text: string): GeneratedFile {
  return { path, text }
}

/** A verbatim copy of a source file, for a package that may not import it, under a line that says so. */
export function describeCopy(source: string, path: string): GeneratedFile {
  return {
    path,
    text: `// Generated from ${source}: edit that, then run npm run generate.\n${read(source)}`,
  }
}

type Part = { readonly name: string; readonly text: string }

/** A part lies between `<!-- name -->` and `<!-- /name -->`; in YAML, between `# <name>` and `# </name>`. */
function withPart(path: string, current: string, { name, text }: Part): string {
  const isYaml = path.endsWith('.yml')
  const open = isYaml ? `# <${name}>` : `<!-- ${name} -->`
  const close = isYaml ? `      # </${name}>` : `<!-- /${name} -->`
  const start = current.indexOf(open)
  const end = current.indexOf(close)
  if (start < 0 || end < start) throw new Error(`${path} lacks the markers ${open} and ${close}`)
  const generated = isYaml ? text : text.trim()
  return `${current.slice(0, start + open.length)}\n${generated}\n${current.slice(end)}`
}

/** A file with one generated part. */
export function section(path: string, part: Part): GeneratedFile {
  return sections(path, [part])
}

/** A file with several generated parts. */
export function sections(path: string, parts: readonly Part[]): GeneratedFile {
  return { path, text: parts.reduce((text, part) => withPart(path, text, part), read(path)) }
}

/** Whether the committed file has its expected text. */
export function isCurrent(file: GeneratedFile): boolean {
  return read(file.path) === file.text
}

export function writeGenerated(file: GeneratedFile): void {
  const path = join(root, file.path)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, file.text)
}
