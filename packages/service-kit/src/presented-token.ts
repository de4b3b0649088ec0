/** What an `Authorization` header holds. Tokens are never looked for anywhere else. */
export type PresentedToken =
  | { readonly kind: 'none' }
  /** Some other scheme, which nobody here understands. */
  | { readonly kind: 'other' }
  /** A bearer token, not yet verified, perhaps empty. */
  | { readonly kind: 'bearer'; readonly token: string }

/** Reads an `Authorization` header; the scheme's case does not matter (RFC 9110 §11.1). */
export function presentedToken(authorization: string | undefined): PresentedToken {
  if (authorization === undefined) return { kind: 'none' }
  const match = /^bearer(?:$| +(.*)$)/i.exec(authorization)
  return match === null ? { kind: 'other' } : { kind: 'bearer', token: match[1] ?? '' }
}
