// C27: several processes over one PostgreSQL: what one of them begins, any other goes on with, and nothing is used twice.
import {
  type PostgresServer,
  postgresMissing,
  startPostgres,
} from '@tallystick/journal-store/postgres-server'
import { manualClock, requireConfig } from '@tallystick/service-kit'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPostgresGrants } from './adapters/postgres-grants.ts'
import { issuerConfigSchema } from './config.ts'
import { createIssuer, startIssuer } from './service.ts'
import { runIssuerCommand } from './testing/command.fixture.ts'
import {
  type IssuerFixture,
  openIssuer,
  RESOURCE,
  registerClient,
  signIn,
} from './testing/issuer.fixture.ts'

const skipped = postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`

const refresh = (token: string | undefined, at: openid.Configuration) =>
  openid.refreshTokenGrant(at, token ?? '', { resource: RESOURCE })

describe.skipIf(postgresMissing !== undefined)(`several processes${skipped}`, () => {
  let server: PostgresServer
  let databaseUrl: string
  let issuer: IssuerFixture
  let other: Awaited<ReturnType<typeof startIssuer>>
  let client: openid.Configuration

  beforeAll(async () => {
    server = startPostgres()
    databaseUrl = (await server.database()).owner
    issuer = await openIssuer({ DATABASE_URL: databaseUrl })
    other = await startIssuer({ ...issuer.settings, PORT: '0' })
    client = await registerClient(issuer.url)
  })
  afterAll(async () => {
    await other.stop()
    await issuer.remove()
    server.end()
  })

  /** The program's requests go to that process, as a proxy would send them. */
  const elsewhere = (url: string): openid.Configuration => {
    const { client_id: id } = client.clientMetadata()
    const moved = new openid.Configuration(client.serverMetadata(), id, undefined, openid.None())
    openid.allowInsecureRequests(moved)
    moved[openid.customFetch] = (target, options) =>
      fetch(target.replace(issuer.url, url), options as RequestInit)
    return moved
  }
  const both = () => [elsewhere(issuer.url), elsewhere(other.url)]

  it('a code is redeemed at another process than it came from, and refresh tokens at each in turn', async () => {
    const { redeem } = await signIn(elsewhere(other.url))
    let { refresh_token: token } = await redeem()
    for (let round = 0; round < 4; round += 1)
      for (const at of both()) token = (await refresh(token, at)).refresh_token
    expect(token).toBeDefined()
  })

  it('attack: a code is redeemed at two processes at once: once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { redeemAt } = await signIn(client)
      const answers = await Promise.allSettled(both().map(redeemAt))
      expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    }
  })

  it('attack: a refresh token is used at two processes many times at once: one token comes after it', async () => {
    const { redeem } = await signIn(client)
    const { refresh_token: first } = await redeem()
    const uses = [...both(), ...both(), ...both()].map((at) => refresh(first, at))
    const answers = await Promise.allSettled(uses)
    const next = answers.flatMap((answer) =>
      answer.status === 'fulfilled' ? [answer.value.refresh_token] : [],
    )
    expect(new Set(next).size).toBe(1)
    expect((await refresh(next[0], elsewhere(other.url))).access_token).toBeDefined()
  })

  it('C27: a new signing key is published by all before one signs with it, and a dropped one is gone from all', async () => {
    const { owner: DATABASE_URL } = await server.database()
    const clock = manualClock(Date.now())
    const config = requireConfig(issuerConfigSchema, { ...issuer.settings, DATABASE_URL })
    const services = await Promise.all([1, 2].map(() => createIssuer({ config, clock })))
    const kids = async (): Promise<readonly (readonly string[])[]> =>
      Promise.all(
        services.map(async ({ app }) => {
          const { keys } = (await app.inject('/jwks')).json<{ keys: { kid: string }[] }>()
          return keys.map(({ kid }) => kid)
        }),
      )
    const lookedAgain = async () => {
      await clock.advanceMsSettled(10_000)
      return kids()
    }
    const [[first = ''] = []] = await kids()
    const admin = (line: string) => runIssuerCommand(line, '', { DATABASE_URL })
    expect(await admin('rotate-keys')).toMatchObject({ code: 0 })
    await expect.poll(async () => (await lookedAgain()).map(({ length }) => length)).toEqual([2, 2])
    const [published = []] = await kids()
    // The one that signs comes first.
    expect(published[0]).toBe(first)
    const second = published[1] ?? ''
    const database = await openPostgresGrants({ url: DATABASE_URL, pause: async () => undefined })
    await database.write("UPDATE signing_keys SET added_at = added_at - interval '61 s'")
    await database.close()
    await expect.poll(lookedAgain).toEqual([
      [second, first],
      [second, first],
    ])
    expect(await admin(`drop-key ${second}`)).toMatchObject({ code: 0 })
    await expect.poll(lookedAgain).toEqual([[first], [first]])
    expect(await admin(`drop-key ${first}`)).toMatchObject({ code: 0 })
    await expect.poll(async () => (await lookedAgain()).flat()).not.toContain(first)
    expect(await admin('drop-key nobody')).toMatchObject({ code: 1 })
    for (const service of services) {
      await service.app.close()
      await service.close()
    }
  })
})
