/**
 * The numbered rules of docs/rules and the files that name them. A rule is a heading or a list item that begins with its
 * number; `Code:` and `Test:` link to its implementation and its tests, relative to docs/rules.
 */
import { posix } from 'node:path'
import type { SourceFile } from './source-files.ts'

export const RULES_FOLDER = 'docs/rules/'

/** One rule as its document states it. Paths are relative to the root. */
type Rule = {
  readonly number: string
  readonly document: string
  /** False for a name or a choice, which no test can show. */
  readonly hasBehaviour: boolean
  readonly code: readonly string[]
  readonly tests: readonly string[]
}

const RULE = /^(?:## |- \*\*)([A-Z][1-9]\d?)\b/
// Not `%C3` of a URI, `#A4` of a colour, nor part of a longer word; `invariant_I1_…` names a rule.
const MENTION = /(?<![A-Za-z0-9.%#/@\\-])[SXACGLI][1-9]\d?(?![A-Za-z0-9%-])/g
const COMMENT = /^\s*(?:\/\/|\/\*|\*)/

function linksAfter(label: string, text: string, document: string): readonly string[] {
  const line = new RegExp(`${label}: (.*?)(?: [A-Z][a-z]+:|$)`, 'm').exec(text)?.[1] ?? ''
  return [...line.matchAll(/\]\(([^)#]+)\)/g)].map(([, target = '']) =>
    posix.normalize(posix.join(posix.dirname(document), target)),
  )
}

/** The rules of one document, in its order. */
export function readRules({ path, text }: SourceFile): readonly Rule[] {
  return text.split(/^(?=## |- \*\*)/m).flatMap((part) => {
    const number = RULE.exec(part)?.[1]
    if (number === undefined) return []
    return {
      number,
      document: path,
      hasBehaviour: !part.includes('No behaviour'),
      code: linksAfter('Code', part, path),
      tests: linksAfter('Test', part, path),
    }
  })
}

/** The rule numbers in a text, each once. */
export function numbersIn(text: string): readonly string[] {
  return [...new Set(text.match(MENTION))]
}

/** The rule numbers in a test file's titles: quoted texts and Solidity function names. */
export function numbersInTitles({ path, text }: SourceFile): readonly string[] {
  const isTitle = path.endsWith('.sol') ? /\bfunction / : /['"`]/
  const lines = text.split('\n').filter((line) => isTitle.test(line) && !COMMENT.test(line))
  return numbersIn(lines.join('\n'))
}

/** Numbers that files use but no document states, as `path: number`. */
export function unresolvedNumbers(
  files: readonly SourceFile[],
  rules: readonly Rule[],
): readonly string[] {
  const known = new Set(rules.map(({ number }) => number))
  return files.flatMap((file) =>
    numbersIn(file.text)
      .filter((number) => !known.has(number))
      .map((number) => `${file.path}: ${number}`),
  )
}
