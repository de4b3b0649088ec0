/** Titles that are one only before a name (C37): `M. Dupont`, where `10 m.` and an initial are none. */
import type { Read } from './read-punctuation.ts'
import type { CompiledRules, SpokenRules } from './spoken-rules.ts'

/** A title at a place of a text; undefined where it may be something else: a day, an initial. */
export function readTitle(
  text: string,
  at: number,
  { patterns, rules }: { patterns: CompiledRules; rules: SpokenRules },
): Read | undefined | 'none' {
  const { beforeNames = {}, noNameBeside = [] } = rules
  patterns.title.lastIndex = at
  const [, title, name] = patterns.title.exec(text) ?? []
  if (title === undefined) return 'none'
  const before = text.slice(0, at)
  const neighbours = [/(\p{L}+)\.?,? $/u.exec(before)?.[1], name]
  // Behind a name that is none of a sentence's beginning it is an initial.
  const isInitial = title.length === 1 && /\p{L},? \p{Lu}\p{L}* $/u.test(before)
  const isNone = neighbours.some((word) => noNameBeside.includes(word?.toLowerCase() ?? ''))
  const said = beforeNames[title]
  if (name === undefined || isInitial || isNone || said === undefined) return undefined
  return { said, end: at + title.length + 1 }
}
