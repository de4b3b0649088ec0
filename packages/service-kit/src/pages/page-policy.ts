/**
 * What pages may do, a Content-Security-Policy: run and load what their service serves, and talk to it. Nothing inline,
 * nothing of another origin, no text as markup. `more` adds directives, e.g. `media-src blob:`.
 */
export function pagePolicy(...more: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    ...more,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}
