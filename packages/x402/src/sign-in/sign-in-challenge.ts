/** The 402 that asks for proof of a key instead of money, and the client's answer to it. */
import { z } from 'zod'
import { type Challenge, encodeChallenge } from '../gate/challenge.ts'
import type { PaidResource } from '../payment.ts'
import {
  eip155Chain,
  SIGN_IN_EXTENSION,
  SIGN_IN_TYPE,
  type SignInInfo,
  signInInfoSchema,
  signInText,
} from './sign-in-message.ts'

/** How long a challenge may be answered, milliseconds: the reference's 300 s. */
export const SIGN_IN_AGE_MS_MAX = 300_000

type SignInOffer = {
  /** Why a proof is requested: the `error` of the body. */
  readonly error: string
  readonly resource: PaidResource
  /** A person reads this in the wallet, one line of ASCII. */
  readonly statement: string
  /** CAIP-2, `eip155:…`. */
  readonly chainId: string
  readonly issuedAtMs: number
  /** Tells challenges of the same millisecond apart, so that each has its own nonce: 0 to 999,999. */
  readonly serial: number
  /** Makes the nonce from the exact text of the time of issue. */
  readonly makeNonce: (issuedAt: string) => string
}

/**
 * A 402 with nothing to pay: `accepts` is empty, since official clients would pay anything in it rather than sign. Domain
 * and uri come from the resource's own address. Official clients return an extension unchanged and do not read its
 * `schema`, which is left out.
 */
export function signInChallenge(offer: SignInOffer): Challenge {
  const { chainId, error, issuedAtMs, makeNonce, resource, serial, statement } = offer
  const fraction = String(serial % 1_000_000).padStart(6, '0')
  const issuedAt = new Date(issuedAtMs).toISOString().replace('Z', `${fraction}Z`)
  const info: SignInInfo = {
    domain: new URL(resource.url).host,
    uri: resource.url,
    version: '1',
    nonce: makeNonce(issuedAt),
    issuedAt,
    expirationTime: new Date(issuedAtMs + SIGN_IN_AGE_MS_MAX).toISOString(),
    statement,
  }
  const supportedChains = [{ chainId, type: SIGN_IN_TYPE }]
  return encodeChallenge({
    x402Version: 2,
    error,
    resource,
    accepts: [],
    extensions: { [SIGN_IN_EXTENSION]: { info, supportedChains } },
  })
}

const challengeSchema = z.object({
  accepts: z.array(z.unknown()).max(0),
  extensions: z.object({
    [SIGN_IN_EXTENSION]: z.object({
      info: signInInfoSchema,
      supportedChains: z.array(z.object({ chainId: z.string(), type: z.string() })),
    }),
  }),
})

type SignInSigner = {
  readonly address: string
  /** The chain the key signs for, `eip155:…`. */
  readonly chainId: string
  /** EIP-191 over the text, 65 bytes in hex. */
  readonly signText: (text: string) => Promise<string>
}

/**
 * The value of `SIGN-IN-WITH-X` for a 402's body. Undefined if the body asks for no sign-in, for one on another chain, or
 * for one at an origin other than `url`'s, where the body came from: a proof is valid only where it was requested.
 */
export async function answerSignIn(
  body: unknown,
  { signer, url }: { readonly signer: SignInSigner; readonly url: string },
): Promise<string | undefined> {
  const { data } = challengeSchema.safeParse(body)
  if (data === undefined) return undefined
  const { info, supportedChains } = data.extensions[SIGN_IN_EXTENSION]
  const { address, chainId } = signer
  const origin = new URL(url)
  const isOwnChain =
    eip155Chain.safeParse(chainId).success &&
    supportedChains.some((chain) => chain.chainId === chainId && chain.type === SIGN_IN_TYPE)
  if (!isOwnChain || info.domain !== origin.host || URL.parse(info.uri)?.origin !== origin.origin)
    return undefined
  const signature = await signer.signText(signInText(info, signer))
  const proof = { ...info, address, chainId, type: SIGN_IN_TYPE, signature }
  return Buffer.from(JSON.stringify(proof), 'utf8').toString('base64')
}
