/**
 * x402's sign-in-with-x for EVM keys: what a challenge asks to be signed, and the text that a wallet signs.
 * https://eips.ethereum.org/EIPS/eip-4361, https://eips.ethereum.org/EIPS/eip-191
 */
import { z } from 'zod'
import { keccakOfText } from '../schemes/evm/evm-words.ts'

/** Key of the extension in a challenge. */
export const SIGN_IN_EXTENSION = 'sign-in-with-x'

/** How the text is signed: EIP-191, by a secp256k1 key. */
export const SIGN_IN_TYPE = 'eip191'

/** One line of printable ASCII: a line break would let a field pretend to be the next. */
const line = z.string().regex(/^[\x20-\x7e]{0,500}$/)
const uri = z.string().regex(/^[\x21-\x7e]{1,500}$/)

/** RFC 3339 in UTC: the only form in which a time has one spelling for every reader. */
const time = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/)
  .refine((text) => !Number.isNaN(Date.parse(text)))

/** Most resources that one text may name. */
const RESOURCES_MAX = 10

/** `info` of a challenge: every field of the text except the signer's own. */
export const signInInfoSchema = z.object({
  domain: line.min(1),
  uri,
  version: z.literal('1'),
  nonce: z.string().regex(/^[a-zA-Z0-9]{8,64}$/),
  issuedAt: time,
  statement: line.optional(),
  expirationTime: time.optional(),
  notBefore: time.optional(),
  requestId: line.min(1).optional(),
  resources: z.array(uri).max(RESOURCES_MAX).optional(),
})

export type SignInInfo = Readonly<z.infer<typeof signInInfoSchema>>

/** A CAIP-2 chain whose keys may sign, e.g. `eip155:296`. */
export const eip155Chain = z.string().regex(/^eip155:[1-9]\d{0,14}$/)

/** An address with its EIP-55 checksum, as in the text. */
function checksummed(address: string): string {
  const digits = address.slice(2).toLowerCase()
  const hash = keccakOfText(digits).toString('hex')
  const cased = Array.from(digits, (digit, index) =>
    Number.parseInt(hash[index] ?? '0', 16) > 7 ? digit.toUpperCase() : digit,
  )
  return `0x${cased.join('')}`
}

/** The text to sign. `chainId` is `eip155:<number>`; the address may be in any case. */
export function signInText(
  info: SignInInfo,
  signer: { readonly address: string; readonly chainId: string },
): string {
  const { expirationTime, notBefore, requestId, resources, statement } = info
  return [
    `${info.domain} wants you to sign in with your Ethereum account:`,
    checksummed(signer.address),
    '',
    // Without a statement the line is empty; a blank statement is still followed by the empty line.
    ...(statement === undefined ? [''] : [statement, '']),
    `URI: ${info.uri}`,
    `Version: ${info.version}`,
    `Chain ID: ${signer.chainId.slice('eip155:'.length)}`,
    `Nonce: ${info.nonce}`,
    `Issued At: ${info.issuedAt}`,
    ...(expirationTime === undefined ? [] : [`Expiration Time: ${expirationTime}`]),
    ...(notBefore === undefined ? [] : [`Not Before: ${notBefore}`]),
    ...(requestId === undefined ? [] : [`Request ID: ${requestId}`]),
    ...(resources === undefined
      ? []
      : ['Resources:', ...resources.map((resource) => `- ${resource}`)]),
  ].join('\n')
}

/** The 32 bytes that a key signs for a text under EIP-191. */
export function personalDigest(text: string): Buffer {
  return keccakOfText(`\x19Ethereum Signed Message:\n${Buffer.byteLength(text)}${text}`)
}
