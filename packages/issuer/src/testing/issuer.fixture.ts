// A server of its own for each test file, with people in a file, and a client that knows only its address.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Environment, freePort } from '@tallystick/service-kit'
import * as openid from 'openid-client'
import { addUser, changeUser } from '../adapters/users-file.ts'
import { startIssuer } from '../service.ts'
import { openBrowser } from './browser.fixture.ts'

export const RESOURCE = 'https://care.test/mcp'
export const PASSWORD = 'correct horse battery staple'
/** A guess that takes a millisecond. */
const CHEAP = 10
export const CALLBACK = 'http://127.0.0.1:9/callback'
export const ALL = ['care.read.user', 'care.read.assistant', 'care.write']

export type IssuerFixture = Awaited<ReturnType<typeof openIssuer>>

export async function openIssuer(
  environment: Environment = {},
  options: Parameters<typeof startIssuer>[1] = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-issuer-'))
  const usersPath = join(folder, 'users.json')
  const user = (name: string, scopes: string[], label = name) =>
    addUser(usersPath, { name, label, scopes, roles: ['nurse'], password: PASSWORD }, CHEAP)
  await user('ada', ALL)
  await user('carer', ['care.read.user:maria'])
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const settings = {
    PORT: String(port),
    BASE_URL: url,
    RESOURCES: JSON.stringify([RESOURCE, `${RESOURCE}/2026-07-28`]),
    USERS_PATH: usersPath,
    KEYS_PATH: join(folder, 'keys.json'),
    DATABASE_PATH: join(folder, 'issuer.db'),
    REGISTRATION: 'loopback',
    LOG_LEVEL: 'silent',
    ...environment,
  }
  let running = await startIssuer(settings, options)
  return {
    url,
    folder,
    settings,
    user,
    /** As an operator edits the file: the credentials stay. */
    setRights: (name: string, scopes: string[]) =>
      changeUser(usersPath, name, (known) => ({ ...known, scopes })),
    async restart() {
      await running.stop()
      running = await startIssuer(settings, options)
    },
    async remove() {
      await running.stop()
      rmSync(folder, { recursive: true })
    },
  }
}

/** A program that registers itself, as mcp-remote does. */
export async function registerClient(url: string, metadata: object = {}) {
  const as = {
    redirect_uris: [CALLBACK],
    client_name: 'Test host',
    token_endpoint_auth_method: 'none',
    ...metadata,
  }
  return openid.dynamicClientRegistration(new URL(url), as, openid.None(), {
    execute: [openid.allowInsecureRequests],
  })
}

type Asked = {
  readonly scope?: string
  readonly resource?: string
  readonly name?: string
  readonly choice?: string
  /** By default a new one. */
  readonly browser?: ReturnType<typeof openBrowser>
}

/** An authorization request, and what redeems its answer. */
export async function authorizationUrl(config: openid.Configuration, request: Asked = {}) {
  const { scope = 'care.read.user care.write', resource = RESOURCE } = request
  const verifier = openid.randomPKCECodeVerifier()
  const state = openid.randomState()
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: CALLBACK,
    resource,
    state,
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...(scope === '' ? {} : { scope }),
  })
  const checks = { pkceCodeVerifier: verifier, expectedState: state }
  const redeem = (answer: URL, at = config) =>
    openid.authorizationCodeGrant(at, answer, checks, { resource })
  return { url: url.href, redeem }
}

/** The whole flow from the authorization request to tokens. */
export async function signIn(config: openid.Configuration, request: Asked = {}) {
  const { name = 'ada', choice, browser = openBrowser() } = request
  const { url, redeem } = await authorizationUrl(config, request)
  const who = {
    name,
    password: PASSWORD,
    until: CALLBACK,
    ...(choice === undefined ? {} : { choice }),
  }
  const answer = new URL((await browser.allow(url, who)).url)
  const redeemAt = (at: openid.Configuration) => redeem(answer, at)
  return { answer, redeemAt, redeem: () => redeem(answer) }
}
