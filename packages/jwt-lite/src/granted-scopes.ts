/**
 * A person's scopes: those that the claims of a sign-in grant, narrowed to what a client asked for. A scope is a name, such
 * as `care.read.user`, or a name for one thing only, `care.read.user:<percent-encoded>`; the bare name covers all things.
 */

/** One claim grants these. */
type ScopeGrant = {
  /** A claim's name, such as `groups`; `realm_access.roles` is also the claim `roles` within `realm_access`. */
  readonly claim: string
  /** The value that grants, as the claim itself or in its array; if absent, every value does. */
  readonly value?: string | undefined
  /** `{value}` stands for the claim's value, percent-encoded. */
  readonly scopes: readonly string[]
}

type Claims = Readonly<Record<string, unknown>>

/**
 * The scopes that grants give to these claims, each once.
 *
 * @example
 * grantedScopes({ wards: ['maria'] }, [{ claim: 'wards', scopes: ['care.read.user:{value}'] }])
 * // ['care.read.user:maria']
 */
export function grantedScopes(claims: Claims, grants: readonly ScopeGrant[]): readonly string[] {
  const scopes = grants.flatMap(({ claim, value, scopes: patterns }) =>
    listValues(claims, claim)
      .filter((claimed) => value === undefined || claimed === value)
      .flatMap((claimed) =>
        patterns.map((scope) => scope.replaceAll('{value}', () => encoded(claimed))),
      ),
  )
  return [...new Set(scopes)]
}

/**
 * The scopes that are both granted and asked for, each once. If one side has `care.read.user` and the other
 * `care.read.user:maria`, the narrower one results.
 */
export function narrowScopes(
  granted: readonly string[],
  requested: readonly string[],
): readonly string[] {
  const both = granted.flatMap((grantedScope) =>
    requested.flatMap((other) => {
      if (isWithin(grantedScope, other)) return [grantedScope]
      return isWithin(other, grantedScope) ? [other] : []
    }),
  )
  return [...new Set(both)]
}

const isWithin = (inner: string, outer: string): boolean =>
  inner === outer || (!outer.includes(':') && inner.startsWith(`${outer}:`))

/** A lone surrogate has no percent-encoded form, and no name contains one. */
const encoded = (text: string): string => encodeURIComponent(text.toWellFormed())

const listTexts = (value: unknown): readonly string[] =>
  [value].flat().filter((text) => typeof text === 'string' && text !== '') as readonly string[]

function listValues(claims: Claims, path: string): readonly string[] {
  if (Object.hasOwn(claims, path)) return listTexts(claims[path])
  let at: unknown = claims
  for (const name of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return []
    at = (at as Claims)[name]
  }
  return listTexts(at)
}
