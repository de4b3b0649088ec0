/** The public keys of one issuer (JWKS): fetched when needed, kept, served stale within a bound while the issuer is away. */
import {
  type BackOff,
  type BackOffLimits,
  type Clock,
  createBackOff,
  readLimited,
} from '@tallystick/service-kit'
import { createLocalJWKSet, type JSONWebKeySet } from 'jose'
import { z } from 'zod'
import { isKeyAddress, isLoopback } from '../../domain/trusted-issuer.ts'

/** Keys are fetched again after this, so a withdrawn key is accepted no longer. */
const FRESH_MS = 600_000
/** How long keys are used while the issuer does not answer: longer than a restart, shorter than a working day. */
const STALE_MS = 3_600_000
/** Between two fetches for unknown key ids, of all processes together: strangers choose those. */
const REFETCH_MS = 30_000
/** After a failure: an issuer's restart is over in seconds, and one that is away is asked once a minute. */
const BACK_OFF: BackOffLimits = { firstMs: 1_000, maxMs: 60_000 }
/** The longest that a request waits for keys. */
const TIMEOUT_MS = 5_000
/** A hundred RSA keys with their certificates. */
const BODY_BYTES_MAX = 524_288

/** An issuer's keys cannot be fetched, and there are none to fall back on. */
export class IssuerUnavailable extends Error {
  override readonly name = 'IssuerUnavailable'
}

export type KeptKeys = {
  readonly find: ReturnType<typeof createLocalJWKSet>
  /** Equal for equal keys. */
  readonly mark: string
  readonly fetchedAtMs: number
}

type IssuerKeysOptions = {
  readonly issuer: string
  /** Absent, the issuer's discovery document says it. */
  readonly jwksUri?: string | undefined
  readonly clock: Clock
  /** Those that serve with the same issuers. */
  readonly countProcesses?: (() => number) | undefined
  /** Called for each failed fetch. */
  readonly onProblem: (error: IssuerUnavailable) => void
}

export class IssuerKeys {
  readonly #options: IssuerKeysOptions
  #kept: KeptKeys | undefined
  #running: Promise<void> | undefined
  readonly #backOff: BackOff

  constructor(options: IssuerKeysOptions) {
    this.#options = options
    this.#backOff = createBackOff({ ...BACK_OFF, clock: options.clock })
  }

  /** The keys, if they may be used without asking. */
  get fresh(): KeptKeys | undefined {
    return this.#ageMs() < FRESH_MS ? this.#kept : undefined
  }

  /** The current keys. Rejects with `IssuerUnavailable`. */
  async current(): Promise<KeptKeys> {
    if (this.fresh === undefined) await this.#fetch()
    if (this.#kept === undefined || this.#ageMs() >= STALE_MS)
      throw new IssuerUnavailable(`no keys of ${this.#options.issuer}`)
    return this.#kept
  }

  /** Newer keys, if the given ones lack a key; undefined if there are none. Rejects with `IssuerUnavailable`. */
  async newerThan(keys: KeptKeys): Promise<KeptKeys | undefined> {
    const { countProcesses = () => 1 } = this.#options
    const refetchMs = REFETCH_MS * countProcesses()
    const hasJustAsked = this.#backOff.failures === 0 && this.#ageMs() < refetchMs
    if (!hasJustAsked) await this.#fetch()
    // The key may exist: nobody can tell while the issuer is away.
    if (this.#backOff.failures > 0)
      throw new IssuerUnavailable(`no newer keys of ${this.#options.issuer}`)
    return this.#kept?.mark === keys.mark ? undefined : this.#kept
  }

  #ageMs(): number {
    if (this.#kept === undefined) return Number.POSITIVE_INFINITY
    return this.#options.clock.unixMs() - this.#kept.fetchedAtMs
  }

  /** One fetch for all who wait; none during a back-off. */
  async #fetch(): Promise<void> {
    if (this.#backOff.leftMs() > 0) return
    this.#running ??= this.#attempt().finally(() => {
      this.#running = undefined
    })
    await this.#running
  }

  async #attempt(): Promise<void> {
    const { clock, issuer, onProblem } = this.#options
    try {
      const jwks = await fetchJson(await findKeyAddress(this.#options))
      const find = createLocalJWKSet(jwks as JSONWebKeySet)
      this.#kept = { find, mark: JSON.stringify(jwks), fetchedAtMs: clock.unixMs() }
      this.#backOff.succeeded()
    } catch (cause) {
      this.#backOff.failed()
      onProblem(new IssuerUnavailable(`the keys of ${issuer} were not fetched`, { cause }))
    }
  }
}

const discovery = z.object({ issuer: z.string(), jwks_uri: z.string() })

async function findKeyAddress({ issuer, jwksUri }: IssuerKeysOptions): Promise<string> {
  if (jwksUri !== undefined) return jwksUri
  const { origin, pathname } = new URL(issuer)
  // Where an issuer publishes its metadata: OpenID's place, then RFC 8414's.
  const first = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const second = `${origin}/.well-known/oauth-authorization-server${pathname.replace(/\/$/, '')}`
  const found = discovery.parse(await fetchJson(first).catch(() => fetchJson(second)))
  if (found.issuer !== issuer) throw new Error('its discovery document names another issuer')
  const isAllowed = isLoopback(issuer) || !isLoopback(found.jwks_uri)
  if (!isKeyAddress(found.jwks_uri) || !isAllowed) throw new Error('its jwks_uri is not https')
  return found.jwks_uri
}

/** The JSON at an address, without redirects and within limits of time and size. */
async function fetchJson(address: string): Promise<unknown> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const headers = { accept: 'application/json' }
  const answer = await fetch(address, { redirect: 'error', signal, headers })
  if (!answer.ok) throw new Error(`${address} answered ${answer.status}`)
  const body = await readLimited(answer.body, BODY_BYTES_MAX)
  if (body === 'too_large') throw new Error(`${address} answered too much`)
  return JSON.parse(Buffer.from(body).toString('utf8'))
}
