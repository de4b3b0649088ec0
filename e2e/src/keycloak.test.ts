// Somebody else's sign-in as care's trusted issuer: Keycloak, unmodified. Without it these tests are skipped and say why
// (keycloak.fixture.ts).
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@tallystick/service-kit'
import { startServiceProcess } from '@tallystick/service-kit/service-process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from './eventually.ts'
import { type KeycloakTokens, keycloakMissing, startKeycloak } from './keycloak.fixture.ts'
import { isOk, root } from './spawned-stack.ts'

const because = keycloakMissing === undefined ? '' : ` (skipped: ${keycloakMissing})`
/** Java starts, twice, and care asks for new keys at most every 30 s. */
const LIMIT_MS = 300_000

describe.skipIf(keycloakMissing !== undefined)(
  `C41: Keycloak signs care's people in${because}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'tallystick-keycloak-'))
    let keycloak: Awaited<ReturnType<typeof startKeycloak>>
    let care: ReturnType<typeof startServiceProcess>
    let baseUrl: string
    let nora: KeycloakTokens

    beforeAll(async () => {
      const port = await freePort()
      baseUrl = `http://127.0.0.1:${port}`
      keycloak = await startKeycloak(`${baseUrl}/mcp`)
      const scopes = ['care.read.user', 'care.read.assistant', 'care.write']
      care = startServiceProcess([join(root, 'services/care/src/main.ts')], {
        BASE_URL: baseUrl,
        PORT: String(port),
        DATABASE_PATH: join(folder, 'care.db'),
        WRITE_SECRET: 'w'.repeat(40),
        TOKEN_SECRET: 't'.repeat(40),
        BEARER_AUTHOR: 'sub',
        TRUSTED_ISSUERS: JSON.stringify([
          {
            issuer: keycloak.issuer,
            client_id: keycloak.clientId,
            grants: [{ claim: 'realm_access.roles', value: 'nurse', scopes }],
          },
        ]),
      })
      await care.url()
    }, LIMIT_MS)
    afterAll(async () => {
      care?.kill('SIGKILL')
      await care?.ended
      await keycloak?.kill()
      rmSync(folder, { recursive: true, force: true })
    })

    const write = async (token: string): Promise<number> => {
      const answer = await fetch(`${baseUrl}/write`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ patient: 'kim', domain: 'tea', value: 'One cup.' }),
      })
      await answer.body?.cancel()
      return answer.status
    }

    it('by the code flow; the role grants, and who has none may not write', async () => {
      nora = await keycloak.signIn('nora')
      expect(await write(nora.access_token)).toBe(200)
      expect(await write((await keycloak.signIn('rob')).access_token)).toBe(401)
      // A refresh token is no access token.
      expect(await write(nora.refresh_token)).toBe(401)
    })

    it('a refreshed token is taken, and one of a rotated key as soon as care asks for keys again', async () => {
      nora = await keycloak.refresh(nora)
      const before = nora.access_token
      expect(await write(before)).toBe(200)
      await keycloak.rotateKeys()
      nora = await keycloak.refresh(nora)
      await eventually(async () => (await write(nora.access_token)) === 200)
      expect(await write(before)).toBe(200)
    })

    it(
      'while Keycloak is down its tokens go on, and after its restart new ones are taken',
      async () => {
        nora = await keycloak.refresh(nora)
        await keycloak.kill()
        expect(await write(nora.access_token)).toBe(200)
        expect(await isOk(`${baseUrl}/ready`)).toBe(true)
        await keycloak.startAgain()
        expect(await write((await keycloak.signIn('nora')).access_token)).toBe(200)
      },
      LIMIT_MS,
    )
  },
  LIMIT_MS,
)
