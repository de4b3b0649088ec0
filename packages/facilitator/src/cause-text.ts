/** Longest text of a cause: a few links, and no answer of a foreign node in full. */
const TEXT_MAX = 500

/** A run of letters and digits this long is a transaction, a signature or a key, and no word or address. */
const SIGNED_BYTES = /[0-9A-Za-z+/=_-]{64,}/g

/**
 * What an error says of itself and of its causes, in one line for a log. Client libraries repeat a request that failed in
 * their message, the signed transaction in it: of those only the short message is taken, and long runs are left out.
 */
export function causeText(error: unknown): string {
  const links: string[] = []
  const seen = new Set<unknown>()
  for (let at = error; at instanceof Error && !seen.has(at); at = at.cause) {
    seen.add(at)
    const text = 'shortMessage' in at ? String(at.shortMessage) : at.message
    links.push(`${at.name}: ${text}`)
  }
  const line = links.length === 0 ? String(error) : links.join(' < ')
  return line.replaceAll(SIGNED_BYTES, '…').slice(0, TEXT_MAX)
}
