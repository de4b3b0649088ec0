/** Which proofs were used, in bounded memory that never lets one be used twice. */

/** Proofs remembered; about 150 bytes each. At a thousand sign-ins per second that is the last 50 s. */
const USED_PROOFS_MAX = 50_000

type Proof = { readonly nonce: string; readonly issuedAtMs: number }

/**
 * The proofs that this process has taken. When memory is full, the oldest is dropped, and every proof whose challenge was
 * issued no later counts as used from then on. So a flood costs a slow client a second signature and lets no proof in
 * twice. How old a proof may be is judged elsewhere.
 */
export function createUsedProofs(proofsMax = USED_PROOFS_MAX) {
  const issuedAtMsByNonce = new Map<string, number>()
  let letGoToMs = Number.NEGATIVE_INFINITY
  return {
    /** Whether this is its first use; marks it as used. */
    take({ nonce, issuedAtMs }: Proof): boolean {
      if (issuedAtMs <= letGoToMs || issuedAtMsByNonce.has(nonce)) return false
      issuedAtMsByNonce.set(nonce, issuedAtMs)
      const [first] = issuedAtMsByNonce
      if (issuedAtMsByNonce.size > proofsMax && first !== undefined) {
        issuedAtMsByNonce.delete(first[0])
        letGoToMs = Math.max(letGoToMs, first[1])
      }
      return true
    },
    /** Makes a proof that served nothing usable again. */
    giveBack({ nonce }: Pick<Proof, 'nonce'>): void {
      issuedAtMsByNonce.delete(nonce)
    },
  }
}
