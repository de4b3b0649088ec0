// C49: a person's credentials have a beginning, and whatever is older than it is dead.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { explainsItsVerbs } from '@tallystick/service-kit/command-contract'
import { decodeJwt } from 'jose'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openBrowser } from './testing/browser.fixture.ts'
import { runIssuerCommand } from './testing/command.fixture.ts'
import {
  ALL,
  authorizationUrl,
  CALLBACK,
  type IssuerFixture,
  openIssuer,
  PASSWORD,
  RESOURCE,
  registerClient,
  signIn,
} from './testing/issuer.fixture.ts'

let issuer: IssuerFixture
let client: openid.Configuration
beforeAll(async () => {
  issuer = await openIssuer()
  client = await registerClient(issuer.url)
})
afterAll(() => issuer.remove())

const refresh = (token = '') => openid.refreshTokenGrant(client, token, { resource: RESOURCE })
const users = () => join(issuer.folder, 'users.json')
const command = (line: string) => runIssuerCommand(`${line} --file ${users()}`)
const remove = (name: string) => {
  const stored = JSON.parse(readFileSync(users(), 'utf8')) as { users: { name: string }[] }
  const rest = stored.users.filter((user) => user.name !== name)
  writeFileSync(users(), JSON.stringify({ users: rest }))
}

/** A person with a browser that has signed in, and the tokens of a program. */
async function signedIn(name: string) {
  await issuer.user(name, ALL)
  const browser = openBrowser()
  const { redeem } = await signIn(client, { name, browser })
  const tokens = await redeem()
  const { url } = await authorizationUrl(client)
  /** What a page of the next sign-in in that browser says. */
  const next = async () => (await browser.go(url, { until: CALLBACK })).text
  expect(await next()).toContain(`You are signed in as`)
  return { browser, tokens, next, url }
}

explainsItsVerbs('tallystick-issuer', (list) => runIssuerCommand(list.join(' ')))

describe('C49: credentials that were replaced', () => {
  it.each([
    ['a new password', (name: string) => issuer.user(name, ALL)],
    ['the command sign-out', (name: string) => command(`sign-out ${name}`)],
    [
      'a removal, and a namesake',
      async (name: string) => {
        expect((await command(`remove-user ${name}`)).code).toBe(0)
        await issuer.user(name, ALL)
      },
    ],
    [
      'a removal by hand, and a namesake',
      async (name: string) => {
        remove(name)
        await issuer.user(name, ALL)
      },
    ],
  ])('%s ends refresh tokens and browser sessions', async (what, end) => {
    const name = `a5-${what.replaceAll(/[ ,]+/g, '-')}`
    const { browser, tokens, next, url } = await signedIn(name)
    await end(name)
    await expect(refresh(tokens.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' })
    expect(await next()).toContain('name="password"')
    // In the same browser the person signs in anew.
    const end2 = await browser.allow(url, { name, password: PASSWORD, until: CALLBACK })
    expect(new URL(end2.url).searchParams.get('code')).not.toBeNull()
  })

  it('a code that was not yet redeemed ends as well', async () => {
    await issuer.user('a5-code', ALL)
    const { redeem } = await signIn(client, { name: 'a5-code' })
    await issuer.user('a5-code', ALL)
    await expect(redeem()).rejects.toMatchObject({ error: 'invalid_grant' })
  })

  it('consent on a page that was open meanwhile grants nothing', async () => {
    await issuer.user('a5-page', ALL)
    const browser = openBrowser()
    const { url } = await authorizationUrl(client)
    const page = await browser.go(url, { until: CALLBACK })
    const form = { name: 'a5-page', password: PASSWORD }
    const consent = await browser.go(`${page.url}/login`, { form, until: CALLBACK })
    await issuer.user('a5-page', ALL)
    const choice = { choice: 'allow' }
    const end = await browser.go(`${consent.url}/consent`, { form: choice, until: CALLBACK })
    expect(end.url).toContain('error=access_denied')
  })

  it('another person’s sign-ins go on, and the subject stays the name', async () => {
    const { tokens } = await signedIn('a5-other')
    await command('sign-out ada')
    const again = await refresh(tokens.refresh_token)
    expect(decodeJwt(again.access_token).sub).toBe('a5-other')
    const { redeem } = await signIn(client, { name: 'a5-other', scope: 'openid care.read.user' })
    const { id_token: idToken = '' } = await redeem()
    expect(decodeJwt(idToken)).toMatchObject({ sub: 'a5-other' })
    expect(decodeJwt(idToken)['acr']).toBeUndefined()
  })

  it.each(['sign-out nobody', 'remove-user nobody'])(
    '%s fails and says that there is no such person',
    async (line) => {
      expect(await command(line)).toMatchObject({
        code: 1,
        text: expect.stringContaining('nobody'),
      })
    },
  )
})

describe('C49: a second person at the same tablet', () => {
  it('says “Not you?”, signs in, and the program gets the second one’s rights alone', async () => {
    const { browser, url } = await signedIn('a9-first')
    const page = await browser.go(url, { until: CALLBACK })
    expect(page.text).toContain('Not you?')
    const other = await browser.go(`${page.url}/consent`, {
      form: { choice: 'other' },
      until: CALLBACK,
    })
    expect(other.text).toContain('name="password"')
    const end = await browser.go(`${other.url}/login`, {
      form: { name: 'carer', password: PASSWORD },
      until: CALLBACK,
    })
    expect(end.text).toContain('You are signed in as \u2068carer\u2069')
  })

  it('signs the first one out of the browser, and the program is told no', async () => {
    const { browser, url, next } = await signedIn('a9-out')
    const page = await browser.go(url, { until: CALLBACK })
    const end = await browser.go(`${page.url}/consent`, {
      form: { choice: 'sign-out' },
      until: CALLBACK,
    })
    expect(new URL(end.url).searchParams.get('error')).toBe('access_denied')
    expect(await next()).toContain('name="password"')
  })

  it('SESSION_SECONDS=0: each sign-in asks for the password, and one flow asks once', async () => {
    const shared = await openIssuer({ SESSION_SECONDS: '0' })
    const config = await registerClient(shared.url)
    const browser = openBrowser()
    const first = await signIn(config, { browser })
    expect(first.answer.searchParams.get('code')).not.toBeNull()
    await expect
      .poll(async () => {
        const { url } = await authorizationUrl(config)
        return (await browser.go(url, { until: CALLBACK })).text
      })
      .toContain('name="password"')
    await shared.remove()
  })
})
