/** A catalogue shows this about a seller: x402's service metadata on `resource`, as catalogues accept it. */
import type { PaidResource } from '../payment.ts'

type SellerFields = Pick<PaidResource, 'serviceName' | 'tags' | 'iconUrl'>

const TEXT = /^[\x20-\x7e]{1,32}$/
const TAGS_MAX = 5

/** Catalogues take 2,048 characters, but clients echo the address in `PAYMENT-SIGNATURE`, under 8 KiB (X15). */
const ICON_URL_LENGTH_MAX = 256

/** Hosts that a catalogue's image fetcher must not be sent to. */
const PRIVATE_HOST = /^(?:\[.*|[\d.]+|0x[0-9a-f]+|localhost(?:\.localdomain)?|ip6-l.*)$/i

function isIcon(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || text.length > ICON_URL_LENGTH_MAX || url.username !== '') return false
  return /^https?:$/.test(url.protocol) && !PRIVATE_HOST.test(url.hostname)
}

/**
 * The fields of `resource` for catalogues: a name (1 to 32 visible ASCII characters and spaces), up to 5 tags (likewise,
 * unique regardless of case) and an icon's http(s) address on a named host, at most 256 characters. Catalogues silently
 * drop what breaks a rule, so this throws RangeError.
 *
 * @example
 * const resource = { url, description, mimeType, ...sellerFields({ serviceName: 'Closing Line', tags: ['betting'] }) }
 */
export function sellerFields<Fields extends SellerFields>(fields: Fields): Fields {
  const { iconUrl, serviceName, tags = [] } = fields
  if (serviceName !== undefined && !TEXT.test(serviceName))
    throw new RangeError('serviceName has 1 to 32 visible ASCII characters')
  const unique = new Set(tags.map((tag) => tag.toLowerCase()))
  if (tags.length > TAGS_MAX || unique.size < tags.length || !tags.every((tag) => TEXT.test(tag)))
    throw new RangeError('tags are at most 5 different texts of 1 to 32 visible ASCII characters')
  if (iconUrl !== undefined && !isIcon(iconUrl))
    throw new RangeError('iconUrl is an http(s) address on a named host, at most 256 characters')
  return fields
}
