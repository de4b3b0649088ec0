/** Sign-in at the operator's own OpenID provider: code flow with PKCE, state and nonce, by `openid-client`. */
import { randomUUID } from 'node:crypto'
import { grantedScopes } from '@tallystick/jwt-lite'
import { DAY_SECONDS } from '@tallystick/service-kit'
import type { AdapterPayload } from 'oidc-provider'
import * as openid from 'openid-client'
import { type IssuerConfig, isLoopbackRedirect } from '../config.ts'
import { type Account, UPSTREAM_PREFIX } from '../domain/account.ts'
import type { GrantStore } from './grant-store.ts'

/** How long a person may take at the provider. */
const PENDING_SECONDS = 600
/** The provider answers within this, seconds. */
const TIMEOUT_SECONDS = 5

/** A person there (OpenID Connect Core §2). */
const SUBJECT = /^[\x21-\x7e]{1,255}$/

/** The provider cannot be reached, or its answer cannot be trusted. */
export class UpstreamRefused extends Error {
  override readonly name = 'UpstreamRefused'
}

const refuseAnswer = (cause: unknown): never => {
  throw new UpstreamRefused('the provider’s answer does not hold', { cause })
}

function discover(
  { UPSTREAM_CLIENT_ID: clientId = '', UPSTREAM_CLIENT_SECRET: secret }: IssuerConfig,
  issuer: string,
): Promise<openid.Configuration> {
  const insecure = isLoopbackRedirect(issuer) ? [openid.allowInsecureRequests] : []
  // Without them the library trusts the connection and leaves ID tokens unverified.
  const execute = [...insecure, openid.enableNonRepudiationChecks]
  const method = secret === undefined ? openid.None() : openid.ClientSecretBasic(secret.reveal())
  const options = { execute, timeout: TIMEOUT_SECONDS }
  return openid.discovery(new URL(issuer), clientId, undefined, method, options)
}

export type UpstreamSignIn = NonNullable<ReturnType<typeof createUpstreamSignIn>>

/** Undefined without `UPSTREAM_ISSUER`. */
export function createUpstreamSignIn(config: IssuerConfig, store: GrantStore) {
  const { BASE_URL: baseUrl, UPSTREAM_ISSUER: issuer } = config
  if (issuer === undefined) return undefined
  const redirectUri = `${baseUrl}/upstream/callback`
  const pending = store.adapter('UpstreamSignIn')
  const people = store.adapter('UpstreamAccount')
  let found: Promise<openid.Configuration> | undefined
  const provider = (): Promise<openid.Configuration> => {
    found ??= discover(config, issuer).catch((cause: unknown) => {
      found = undefined
      throw new UpstreamRefused('the provider cannot be reached', { cause })
    })
    return found
  }
  return {
    /** People know it by this. */
    name: new URL(issuer).host,
    /** Where to send the browser of a sign-in, perhaps to say again who is there. Rejects with `UpstreamRefused`. */
    async begin(uid: string, prompt: 'login' | undefined): Promise<string> {
      const server = await provider()
      const verifier = openid.randomPKCECodeVerifier()
      // Its first part names the sign-in; the cookie shows whether this browser began it.
      const state = `${uid}.${openid.randomState()}`
      const nonce = openid.randomNonce()
      await pending.upsert(uid, { params: { verifier, state, nonce } }, PENDING_SECONDS)
      return openid.buildAuthorizationUrl(server, {
        redirect_uri: redirectUri,
        scope: config.UPSTREAM_SCOPE,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
        ...(prompt === undefined ? {} : { prompt }),
      }).href
    },
    /** The sign-in that a provider's answer belongs to. */
    readUid: (state: string | null): string | undefined =>
      /^([\w-]{8,64})\./.exec(state ?? '')?.[1],
    /** The person that an answer names; each works once. Rejects with `UpstreamRefused`. */
    async finish(uid: string, answer: URLSearchParams): Promise<Account> {
      const waiting = await pending.find(uid)
      await pending.destroy(uid)
      const sent = waiting?.params as Readonly<Record<'verifier' | 'state' | 'nonce', string>>
      if (waiting === undefined) throw new UpstreamRefused('nobody was sent there')
      const { verifier, state, nonce } = sent
      if (answer.get('state') !== state) throw new UpstreamRefused('a foreign state')
      const claims = await openid
        .authorizationCodeGrant(await provider(), new URL(`${redirectUri}?${answer.toString()}`), {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        })
        .then((tokens) => tokens.claims())
        .catch(refuseAnswer)
      if (claims === undefined || !SUBJECT.test(claims.sub))
        throw new UpstreamRefused('the provider named nobody')
      const id = `${UPSTREAM_PREFIX}${claims.sub}`
      const known = accountIn(await people.find(id))
      const account: Account = {
        id,
        credentials: known?.credentials ?? randomUUID(),
        label: typeof claims['name'] === 'string' ? claims['name'] : claims.sub,
        scopes: grantedScopes(claims, config.UPSTREAM_GRANTS),
        roles: [],
      }
      // Its rights come from its last sign-in.
      await people.upsert(account.id, { params: { account } }, config.REFRESH_DAYS * DAY_SECONDS)
      return account
    },
    async find(id: string): Promise<Account | undefined> {
      return accountIn(await people.find(id))
    },
  }
}

const accountIn = (payload: AdapterPayload | undefined | void): Account | undefined =>
  payload?.params?.['account'] as Account | undefined

/** Ends all that began with a person's sign-ins there. False if nobody of that id has signed in. */
export async function signOutUpstream(store: GrantStore, id: string): Promise<boolean> {
  const people = store.adapter('UpstreamAccount')
  if ((await people.find(id)) === undefined) return false
  // The next sign-in there makes other credentials.
  await people.destroy(id)
  return true
}
