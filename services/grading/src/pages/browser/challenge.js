/** Reading a 402: what is asked for, taken only where it is what the page told the reader. */
import { bytesOfHex } from './hex.js'

/** @typedef {{ network: string, asset: string, amount: string }} Terms What the page announced; base units. */
/**
 * @typedef {object} Offer One entry of `accepts`.
 * @property {string} scheme
 * @property {string} network
 * @property {string} amount
 * @property {string} asset
 * @property {string} payTo
 * @property {number} maxTimeoutSeconds
 * @property {Record<string, unknown>} extra
 */
/** @typedef {{ x402Version: number, error: string, resource: unknown, accepts: Offer[] }} Challenge */

/** @param {string} network */
export function chainIdOf(network) {
  const digits = /^eip155:([1-9]\d{0,15})$/.exec(network)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** @param {unknown} text */
const isAddress = (text) => typeof text === 'string' && /^0x[0-9a-fA-F]{40}$/.test(text)

/**
 * The offer that the page announced: same network and token, and not dearer. Undefined where a challenge has none, so that
 * nobody signs away more than they were shown.
 *
 * @param {Challenge} challenge
 * @param {Terms} terms
 * @returns {Offer | undefined}
 */
export function announcedOffer({ accepts }, { network, asset, amount }) {
  return accepts.find(
    (offer) =>
      offer.scheme === 'exact' &&
      offer.network === network &&
      offer.asset.toLowerCase() === asset.toLowerCase() &&
      /^[1-9]\d{0,77}$/.test(offer.amount) &&
      BigInt(offer.amount) <= BigInt(amount) &&
      isAddress(offer.payTo) &&
      typeof offer.extra['name'] === 'string' &&
      typeof offer.extra['version'] === 'string',
  )
}

/**
 * What is signed for an offer.
 *
 * @param {Offer} offer
 * @param {{ from: string, nowSeconds: number, nonce: string }} by
 */
export function transferFor(offer, { from, nowSeconds, nonce }) {
  const chainId = chainIdOf(offer.network)
  if (chainId === undefined) throw new RangeError(`${offer.network} is no EVM network`)
  return {
    domain: {
      name: String(offer.extra['name']),
      version: String(offer.extra['version']),
      chainId,
      verifyingContract: offer.asset,
    },
    message: {
      from,
      to: offer.payTo,
      value: offer.amount,
      validAfter: '0',
      validBefore: String(Math.floor(nowSeconds) + Math.floor(offer.maxTimeoutSeconds)),
      nonce,
    },
  }
}

/** @param {string} text UTF-8 in base64, as the headers of payments are written. */
const base64 = (text) =>
  btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''))

/**
 * The payment header of a signed transfer.
 *
 * @param {{ challenge: Challenge, offer: Offer, authorization: unknown, signature: string }} signed
 */
export function paymentHeader({ challenge, offer, authorization, signature }) {
  const { resource } = challenge
  const payload = { authorization, signature }
  return base64(JSON.stringify({ x402Version: 2, resource, accepted: offer, payload }))
}

/**
 * What a header of a settlement says; undefined where there is none.
 *
 * @param {string | null} header
 * @returns {{ success: boolean, transaction?: string, errorReason?: string } | undefined}
 */
export function readSettlement(header) {
  if (header === null) return undefined
  const bytes = Uint8Array.from(atob(header), (character) => character.charCodeAt(0))
  return JSON.parse(new TextDecoder().decode(bytes))
}

/** Whether a text is a signature in hex, of a key or of a wallet that is a contract. */
export const isSignature = (/** @type {unknown} */ text) =>
  typeof text === 'string' &&
  /^0x(?:[0-9a-fA-F]{2}){65,}$/.test(text) &&
  bytesOfHex(text).length > 0
