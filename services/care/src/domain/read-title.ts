/** Titles that are one only before a name (C37): `M. Dupont`, where `10 m.` and an initial are none. */
import type { Read } from './read-punctuation.ts'
import type { compileRules, SpokenRules } from './spoken-rules.ts'

/** A title at a place of a text; its words are missing where it may be something else: a day, an initial. Undefined if none is there. */
export function readTitle(
  text: string,
  at: number,
  { patterns, rules }: { patterns: ReturnType<typeof compileRules>; rules: SpokenRules },
): (Omit<Read, 'said'> & { readonly said: string | undefined }) | undefined {
  const { beforeNames = {}, noNameBeside = [] } = rules
  patterns.title.lastIndex = at
  const [, title, name] = patterns.title.exec(text) ?? []
  if (title === undefined) return undefined
  const before = text.slice(0, at)
  const neighbours = [/(\p{L}+)\.?,? $/u.exec(before)?.[1], name]
  // Behind a name that is none of a sentence's beginning it is an initial.
  const isInitial = title.length === 1 && /\p{L},? \p{Lu}\p{L}* $/u.test(before)
  const isNone = neighbours.some((word) => noNameBeside.includes(word?.toLowerCase() ?? ''))
  const isTitle = name !== undefined && !isInitial && !isNone
  return { said: isTitle ? beforeNames[title] : undefined, end: at + title.length + 1 }
}
