/**
 * Protects the windows of agents that are guarded on the contract (A17): their calls prove the agent's key, first by a
 * signature and then by the token issued for it.
 */
import { type Clock, presentedToken } from '@tallystick/service-kit'
import { judgeSignIn, type SignInRefusal, signInChallenge } from '@tallystick/x402'
import { deriveEvmAddress } from '@tallystick/x402/hedera'
import type { ReportAccessEvent } from './access-events.ts'
import type { AgentAccounts } from './access-parts.ts'
import { type Hex, ledgerSeconds } from './access-window.ts'
import type { SalesTerms } from './sales-terms.ts'

/** Nonces and tokens with which guarded agents prove themselves, made from a key that replicas share (A17). */
export type SessionKeys = {
  /** A nonce for EIP-4361, bound to agent and time of issue. */
  makeNonce(agent: Hex, issuedAt: string): string
  isNonce(proof: {
    readonly agent: Hex
    readonly issuedAt: string
    readonly nonce: string
  }): boolean
  makeToken(agent: Hex, expiresAtSeconds: number): string
  /** Takes at most 10 µs. */
  judgeToken(call: {
    readonly agent: Hex
    readonly token: string
    readonly nowSeconds: number
  }): 'valid' | 'expired' | 'invalid'
}

/** The longest life of a token (A17), seconds. */
const TOKEN_SECONDS = 3_600

/** A person reads this in the wallet. */
const STATEMENT = 'Prove that you hold the key of this agent.'

/** An EVM address that encodes an account number: no signature recovers to it. */
const LONG_ZERO = /^0x0{24}/

/** A guarded call was not served for this reason, the `error` of the 402 that asks for a proof. */
type ProofError =
  | SignInRefusal
  | 'sign_in_required'
  | 'sign_in_already_used'
  | 'token_invalid'
  | 'token_expired'
  | 'key_not_current'
  | 'key_unsupported'

export type GuardedCall = {
  readonly agent: Hex
  /** Value of `Authorization`. */
  readonly authorization?: string | undefined
  /** Value of `SIGN-IN-WITH-X`. */
  readonly signIn?: string | undefined
}

type Admission =
  /** `token` is new: later calls may send it instead of a proof. */
  | { readonly kind: 'admitted'; readonly token: string | undefined }
  | { readonly kind: 'proof-required'; readonly challenge: ReturnType<typeof signInChallenge> }

export type AgentGuardDeps = {
  readonly accounts: AgentAccounts
  readonly sessions: SessionKeys
  readonly clock: Clock
  readonly report: ReportAccessEvent
  readonly terms: Pick<SalesTerms, 'resource'>
  readonly baseUrl: string
  /** CAIP-2 of the ledger's EVM side, `eip155:…`. */
  readonly evmChainId: string
}

export type AgentGuard = ReturnType<typeof createAgentGuard>

/** Judges the calls of guarded agents. Throws LedgerUnavailable if a proof's key cannot be looked up. */
export function createAgentGuard(deps: AgentGuardDeps) {
  const { baseUrl, clock, evmChainId: chainId, sessions } = deps
  const usedProofs = createUsedProofs()
  let challenges = 0

  const refuse = (agent: Hex, error: ProofError): Admission => {
    deps.report({ kind: 'sign-in', outcome: error })
    challenges += 1
    const challenge = signInChallenge({
      error,
      resource: deps.terms.resource,
      statement: STATEMENT,
      chainId,
      issuedAtMs: clock.unixMs(),
      serial: challenges,
      makeNonce: (issuedAt) => sessions.makeNonce(agent, issuedAt),
    })
    return { kind: 'proof-required', challenge }
  }

  const prove = async (agent: Hex, signIn: string): Promise<Admission> => {
    const verdict = judgeSignIn(signIn, {
      baseUrl,
      chainId,
      address: agent,
      nowMs: clock.unixMs(),
      isNonce: (nonce, issuedAt) => sessions.isNonce({ agent, nonce, issuedAt }),
    })
    if (verdict.kind === 'refused') return refuse(agent, verdict.error)
    // Before the look-up, so that only one of two concurrent calls is served.
    if (!usedProofs.take(verdict)) return refuse(agent, 'sign_in_already_used')
    try {
      const error = await keyError(deps.accounts, agent)
      if (error !== undefined) return refuse(agent, error)
    } catch (failure) {
      usedProofs.giveBack(verdict)
      throw failure
    }
    deps.report({ kind: 'sign-in', outcome: 'proved' })
    const token = sessions.makeToken(agent, ledgerSeconds(clock) + TOKEN_SECONDS)
    return { kind: 'admitted', token }
  }

  return {
    async admit({ agent, authorization, signIn }: GuardedCall): Promise<Admission> {
      const presented = presentedToken(authorization)
      const verdict =
        presented.kind === 'bearer'
          ? sessions.judgeToken({ agent, token: presented.token, nowSeconds: ledgerSeconds(clock) })
          : undefined
      if (verdict === 'valid') return { kind: 'admitted', token: undefined }
      if (LONG_ZERO.test(agent)) return refuse(agent, 'key_unsupported')
      if (signIn !== undefined) return prove(agent, signIn)
      return refuse(agent, verdict === undefined ? 'sign_in_required' : `token_${verdict}`)
    },
  }
}

/**
 * Why the key behind an address does not count: its account now has another one, or one that cannot sign here. An
 * unknown or hollow account has only ever had the key behind its address.
 */
async function keyError(accounts: AgentAccounts, agent: Hex): Promise<ProofError | undefined> {
  const account = await accounts.refresh(agent)
  if (account === undefined || (account.key === null && !account.isDeleted)) return undefined
  if (account.isDeleted) return 'key_not_current'
  if (account.key?.kind !== 'ecdsa') return 'key_unsupported'
  return deriveEvmAddress(account.key.publicKey) === agent ? undefined : 'key_not_current'
}

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
