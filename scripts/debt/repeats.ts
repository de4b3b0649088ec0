// Repeated code: runs of more than ten equal lines in two places. Imports, comments, blank lines and indentation do not
// count.
import { findRoom, isTest, type SourceFile } from './source-files.ts'

/** A run must be longer than this many lines: shorter ones are idiom. */
const REPEATED_LINES = 10

type Line = { readonly at: number; readonly text: string }

/** The lines that count, with their numbers from 1. */
function tellingLines(text: string): readonly Line[] {
  let isImport = false
  return text.split('\n').flatMap((raw, index) => {
    const line = raw.trim()
    const begins = /^(?:import\b|export (?:type )?\{)/.test(line)
    const isPart = begins || isImport
    isImport = isPart && !/['}];?$/.test(line)
    if (isPart || line === '' || /^(?:\/\/|\/\*|\*)/.test(line)) return []
    return { at: index + 1, text: line }
  })
}

type Place = { readonly file: number; readonly index: number }

/** Pairs of places with the same run, as `path:line and path:line, n lines`, each run reported once at its full length. */
export function repeatedCode(files: readonly SourceFile[]): readonly string[] {
  const lines = files.map(({ text }) => tellingLines(text))
  const windows = new Map<string, Place[]>()
  for (const [file, fileLines] of lines.entries()) {
    for (let index = 0; index + REPEATED_LINES < fileLines.length; index += 1) {
      const window = fileLines.slice(index, index + REPEATED_LINES + 1)
      const key = window.map(({ text }) => text).join('\n')
      windows.set(key, [...(windows.get(key) ?? []), { file, index }])
    }
  }
  const textAt = ({ file, index }: Place): string | undefined => lines[file]?.[index]?.text
  const where = ({ file, index }: Place): string =>
    `${files[file]?.path}:${lines[file]?.[index]?.at}`
  const moved = ({ file, index }: Place, by: number): Place => ({ file, index: index + by })
  const areEqual = (first: Place, other: Place): boolean =>
    textAt(first) !== undefined && textAt(first) === textAt(other)

  function countLength(first: Place, other: Place): number {
    let length = 0
    while (areEqual(moved(first, length), moved(other, length))) length += 1
    return length
  }

  return [...windows.values()].flatMap((places) =>
    places.slice(1).flatMap((other, at) => {
      const first = places[at]
      if (first === undefined || areEqual(moved(first, -1), moved(other, -1))) return []
      return `${where(first)} and ${where(other)}, ${countLength(first, other)} lines`
    }),
  )
}

const NAMED_VALUE = /^(?:export )?const ([A-Z][A-Z0-9_]+)(?:: [^=\n]+)? = ([-\d'"].*)$/gm

/** Named numbers and texts that two files of a workspace give the same name and value: one of them would be enough. */
export function repeatedDefaults(files: readonly SourceFile[]): readonly string[] {
  const paths = new Map<string, Set<string>>()
  for (const file of files.filter((each) => !isTest(each))) {
    for (const [, name, value] of file.text.matchAll(NAMED_VALUE)) {
      const key = `${findRoom(file.path)}: ${name} = ${value}`
      paths.set(key, new Set([...(paths.get(key) ?? []), file.path]))
    }
  }
  return [...paths]
    .filter(([, at]) => at.size > 1)
    .map(([key, at]) => `${key} in ${[...at].join(', ')}`)
}
