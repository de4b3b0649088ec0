/** A completion's answer as MCP shapes it: at most 100 values, how many there are, whether some were left out. */
export type Completion = {
  readonly values: string[]
  readonly total: number
  readonly hasMore: boolean
}

/** MCP 2025-11-25: a completion holds no more values. */
export const COMPLETION_VALUES_MAX = 100

const shaped = (matches: readonly string[]): Completion => ({
  values: matches.slice(0, COMPLETION_VALUES_MAX),
  total: matches.length,
  hasMore: matches.length > COMPLETION_VALUES_MAX,
})

/** The versions of a chain, newest first, that begin with what was typed; written `v<n>` only where that begins with `v` (C7). */
export function completeVersions(latestVersion: number, typed: string): Completion {
  const prefix = typed.startsWith('v') ? 'v' : ''
  const digits = typed.slice(prefix.length)
  if (!/^\d*$/.test(digits)) return shaped([])
  const values: string[] = []
  let total = 0
  for (let version = latestVersion; version >= 1; version -= 1) {
    if (!String(version).startsWith(digits)) continue
    total += 1
    if (values.length < COMPLETION_VALUES_MAX) values.push(`${prefix}${version}`)
  }
  return { values, total, hasMore: total > values.length }
}

/** The names that begin with what was typed, each once, in alphabetical order. */
export function completeNames(names: Iterable<string>, typed: string): Completion {
  const matches = [...new Set(names)].filter((name) => name.startsWith(typed))
  return shaped(matches.toSorted())
}
