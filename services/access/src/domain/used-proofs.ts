/** Which proofs were used, in bounded memory that never forgets one in favour of its second use. */

/** Proofs remembered; about 150 bytes each. At a thousand sign-ins per second that is the last 50 s. */
const USED_PROOFS_MAX = 50_000

type Proof = { readonly nonce: string; readonly issuedAtMs: number }

/**
 * The proofs that this process has taken. When memory is full the one taken first is let go, and with it every proof whose
 * challenge was issued no later: those count as used, so that a flood costs a slow client a second signature and lets no
 * proof in twice. How old a proof may be at all is not judged here.
 */
export function createUsedProofs(proofsMax = USED_PROOFS_MAX) {
  const issuedAtMsOf = new Map<string, number>()
  let letGoToMs = Number.NEGATIVE_INFINITY
  return {
    /** Whether it is used for the first time; from now on it is not. */
    take({ nonce, issuedAtMs }: Proof): boolean {
      if (issuedAtMs <= letGoToMs || issuedAtMsOf.has(nonce)) return false
      issuedAtMsOf.set(nonce, issuedAtMs)
      const [first] = issuedAtMsOf
      if (issuedAtMsOf.size > proofsMax && first !== undefined) {
        issuedAtMsOf.delete(first[0])
        letGoToMs = Math.max(letGoToMs, first[1])
      }
      return true
    },
    /** Makes one usable again that served nothing. */
    giveBack({ nonce }: Pick<Proof, 'nonce'>): void {
      issuedAtMsOf.delete(nonce)
    },
  }
}
