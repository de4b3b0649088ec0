// Keycloak as a process of its own, unmodified, with one realm: whoever has unpacked it names its folder in KEYCLOAK_DIR. It needs Java.
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '@tallystick/service-kit'
import { z } from 'zod'
import { eventually } from './eventually.ts'
import { isOk, readOutput } from './spawned-stack.ts'

const folder = process.env['KEYCLOAK_DIR']

/** Why its tests cannot run, undefined if they can. */
export const keycloakMissing =
  folder === undefined
    ? 'KEYCLOAK_DIR names no unpacked Keycloak'
    : existsSync(join(folder, 'bin/kc.sh'))
      ? undefined
      : `KEYCLOAK_DIR holds no bin/kc.sh: ${folder}`

const REALM = 'clinic'
const CLIENT = 'care-pages'
const ADMIN = 'admin'
/** Nobody needs to listen there: the code is read from the redirect. */
const CALLBACK = 'http://127.0.0.1:8765/callback'

const Tokens = z.object({ access_token: z.string(), refresh_token: z.string() })
export type KeycloakTokens = z.infer<typeof Tokens>

async function readJson(answer: Response): Promise<unknown> {
  if (!answer.ok) throw new Error(`${answer.url}: ${answer.status} ${await answer.text()}`)
  return answer.status === 204 || answer.status === 201 ? undefined : await answer.json()
}

const describeRealm = (audience: string) => ({
  realm: REALM,
  enabled: true,
  sslRequired: 'none',
  roles: { realm: [{ name: 'nurse' }] },
  clients: [
    {
      clientId: CLIENT,
      publicClient: true,
      standardFlowEnabled: true,
      redirectUris: [CALLBACK],
      protocolMappers: [
        {
          name: 'audience',
          protocol: 'openid-connect',
          protocolMapper: 'oidc-audience-mapper',
          config: { 'included.custom.audience': audience, 'access.token.claim': 'true' },
        },
      ],
    },
  ],
  users: Object.entries({ nora: ['nurse'], rob: [] }).map(([username, realmRoles]) => ({
    username,
    enabled: true,
    emailVerified: true,
    email: `${username}@example.org`,
    firstName: username,
    lastName: 'Vance',
    realmRoles: [...realmRoles, `default-roles-${REALM}`],
    credentials: [{ type: 'password', value: `${username}-password` }],
  })),
})

/** Signs a person in as a browser would: the form, its cookies, the code of the redirect, and the code's proof. */
async function signIn(endpoint: string, username: string): Promise<KeycloakTokens> {
  const verifier = randomBytes(48).toString('base64url')
  const query = new URLSearchParams({
    client_id: CLIENT,
    response_type: 'code',
    scope: 'openid',
    redirect_uri: CALLBACK,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state: 'state',
  })
  const page = await fetch(`${endpoint}/auth?${query.toString()}`)
  const action = / action="([^"]+)"/.exec(await page.text())?.[1]?.replaceAll('&amp;', '&')
  if (action === undefined) throw new Error('Keycloak shows no form')
  const cookie = page.headers
    .getSetCookie()
    .map((text) => text.split(';')[0])
    .join('; ')
  const body = new URLSearchParams({ username, password: `${username}-password` })
  const answer = await fetch(action, {
    method: 'POST',
    body,
    headers: { cookie },
    redirect: 'manual',
  })
  const code = new URL(answer.headers.get('location') ?? '').searchParams.get('code') ?? ''
  return await askToken(endpoint, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: CALLBACK,
    code_verifier: verifier,
  })
}

async function askToken(endpoint: string, form: Readonly<Record<string, string>>) {
  const body = new URLSearchParams({ client_id: CLIENT, ...form })
  return Tokens.parse(await readJson(await fetch(`${endpoint}/token`, { method: 'POST', body })))
}

/** Starts it with the realm; tokens are for `audience`. */
export async function startKeycloak(audience: string) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const endpoint = `${url}/realms/${REALM}/protocol/openid-connect`
  const launch = async () => {
    const words = ['start-dev', '--http-host', '127.0.0.1', '--http-port', String(port)]
    const child = spawn('bin/kc.sh', [...words, '--hostname', url], {
      cwd: folder,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx700m',
        KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN,
        KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN,
      },
    })
    const output = readOutput(child)
    await eventually(() => {
      if (child.exitCode !== null) throw new Error(`Keycloak ended:\n${output()}`)
      return isOk(`${url}/realms/master`)
    })
    return child
  }
  const kill = async (): Promise<void> => {
    if (running.pid !== undefined) process.kill(-running.pid, 'SIGKILL')
    await eventually(async () => !(await isOk(`${url}/realms/master`)))
  }
  // What an earlier run kept: realm and keys are made anew.
  rmSync(join(folder ?? '', 'data/h2'), { recursive: true, force: true })
  let running = await launch()
  const admin = async (path: string, json: unknown): Promise<void> => {
    const body = new URLSearchParams({
      grant_type: 'password',
      client_id: 'admin-cli',
      username: ADMIN,
      password: ADMIN,
    })
    const master = `${url}/realms/master/protocol/openid-connect/token`
    const token = Tokens.pick({ access_token: true }).parse(
      await readJson(await fetch(master, { method: 'POST', body })),
    ).access_token
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    await readJson(
      await fetch(`${url}/admin/realms${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(json),
      }),
    )
  }
  await admin('', describeRealm(audience))
  return {
    issuer: `${url}/realms/${REALM}`,
    clientId: CLIENT,
    signIn: (username: string) => signIn(endpoint, username),
    refresh: ({ refresh_token }: KeycloakTokens) =>
      askToken(endpoint, { grant_type: 'refresh_token', refresh_token }),
    /** From now on tokens are signed with a new key. */
    rotateKeys: () =>
      admin(`/${REALM}/components`, {
        name: 'rotated',
        providerId: 'rsa-generated',
        providerType: 'org.keycloak.keys.KeyProvider',
        config: { priority: ['200'], enabled: ['true'], active: ['true'], algorithm: ['RS256'] },
      }),
    kill,
    async startAgain(): Promise<void> {
      running = await launch()
    },
  }
}
