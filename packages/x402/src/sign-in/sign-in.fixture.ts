// Proofs as clients send them, from the golden vectors.
import { readFileSync } from 'node:fs'
import type { Hex } from '../schemes/evm/evm-words.ts'
import type { SignInInfo } from './sign-in-message.ts'
import { judgeSignIn, type SignInWanted } from './sign-in-proof.ts'

type SignInVectors = {
  readonly privateKey: Hex
  readonly address: Hex
  readonly chainId: string
  readonly proofs: readonly {
    readonly title: string
    readonly info: SignInInfo
    readonly digest: Hex
    readonly signature: Hex
  }[]
}

export const vectors = JSON.parse(
  readFileSync(new URL('../../vectors/sign-in.json', import.meta.url), 'utf8'),
) as SignInVectors

export const issuedAtMs = Date.parse('2026-11-22T12:00:00.000Z')

/** What the vectors' own service requires, a minute after it issued the challenge. */
export const wanted: SignInWanted = {
  baseUrl: 'https://api.example.com',
  chainId: vectors.chainId,
  address: vectors.address.toLowerCase() as Hex,
  nowMs: issuedAtMs + 60_000,
  isNonce: (nonce) => nonce === 'a1b2c3d4e5f67890a1b2c3d4e5f67890',
}

/** The header of a proof, with fields changed after signing. */
export function proofHeader(index: number, change: Readonly<Record<string, unknown>> = {}): string {
  const { address, chainId } = vectors
  const { info, signature } = vectors.proofs[index] ?? {}
  const proof = { ...info, address, chainId, type: 'eip191', signature, ...change }
  return Buffer.from(JSON.stringify(proof)).toString('base64')
}

/** The refusal of a header; `proved` if it is accepted. */
export function signInError(header: string, change: Partial<SignInWanted> = {}): string {
  const verdict = judgeSignIn(header, { ...wanted, ...change })
  return verdict.kind === 'refused' ? verdict.error : verdict.kind
}
