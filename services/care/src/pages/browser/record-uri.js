/**
 * @typedef {{ readonly patient: string, readonly domain: string, readonly audience: 'user' | 'assistant' }} Slot
 */

/** Escapes of `encodeURIComponent` that a path segment of RFC 3986 may hold as they are. */
const AS_THEY_ARE = /%(?:21|24|26|27|28|29|2A|2B|2C|3A|3B|3D|40)/gi

/** @param {string} name */
const encodeName = (name) =>
  encodeURIComponent(name).replace(AS_THEY_ARE, (escape) => decodeURIComponent(escape))

/**
 * The URI of a chain, written as the service writes it: names percent-encoded where needed (C7).
 *
 * @param {Slot} slot
 */
export function chainUri({ patient, domain, audience }) {
  const scheme = audience === 'user' ? 'care' : 'care-internal'
  return `${scheme}://${encodeName(patient)}/${encodeName(domain)}`
}

/**
 * Reads the URI of a chain; undefined for everything else: versions, audio, cards.
 *
 * @param {string} uri
 * @returns {Slot | undefined}
 */
export function parseChainUri(uri) {
  const match = /^care(-internal)?:\/\/([^/]+)\/([^/]+)$/.exec(uri)
  if (match === null) return undefined
  try {
    return {
      audience: match[1] === undefined ? 'user' : 'assistant',
      patient: decodeURIComponent(match[2] ?? ''),
      domain: decodeURIComponent(match[3] ?? ''),
    }
  } catch {
    return undefined // a stray % or bytes that are no UTF-8
  }
}
