/** Signing in on the pages, in Chromium, at the bundled issuer as it runs: code, PKCE and consent are real. */

import {
  type IssuerFixture,
  openIssuer,
  PASSWORD,
  RESOURCE,
} from '@tallystick/issuer/issuer-fixture'
import { freePort } from '@tallystick/service-kit'
import type { Page } from 'playwright-core'
import { afterEach, expect, it } from 'vitest'
import { describePages, fillWrite, medication, newest, text, WAIT } from './page-browser.fixture.ts'

const WHAT_IS_KEPT = `({
  address: location.href,
  kept: [localStorage.length, sessionStorage.length, document.cookie],
  state: history.state,
})`

/** On the issuer's own pages. */
async function allowAt(page: Page, name: string, choice = 'allow'): Promise<void> {
  await page.waitForSelector('[name="password"]', WAIT)
  await page.fill('[name="name"]', name)
  await page.fill('[name="password"]', PASSWORD)
  await page.press('[name="password"]', 'Enter')
  await page.click(`[name="choice"][value="${choice}"]`)
}

describePages((pages) => {
  let issuer: IssuerFixture | undefined
  afterEach(async () => {
    await issuer?.remove()
    issuer = undefined
  })
  /** Each knows the other's address. */
  const startBoth = async (options: {
    readonly trust?: object
    readonly issuer?: (pageUrl: string) => Readonly<Record<string, string>>
  }) => {
    const port = String(await freePort())
    const issuerUrl = `http://127.0.0.1:${port}`
    const TRUSTED_ISSUERS = JSON.stringify([{ issuer: issuerUrl, ...options.trust }])
    const environment = { TRUSTED_ISSUERS, BEARER_AUTHOR: 'sub' }
    const service = await pages.start({ environment })
    issuer = await openIssuer({
      PORT: port,
      BASE_URL: issuerUrl,
      RESOURCES: JSON.stringify([RESOURCE, `${service.url}/mcp`]),
      ...options.issuer?.(service.url),
    })
    return { service, issuerUrl }
  }

  it('C19, C27: a nurse signs in, publishes in her own name and signs out; no token is in the address or outlives the tab', async () => {
    const { service, issuerUrl } = await startBoth({})
    const page = await pages.visit('/clinician.html')
    const requested: URL[] = []
    page.on('request', (request) => requested.push(new URL(request.url())))
    await page.click('text=Sign in')
    await allowAt(page, 'ada')
    await expect.poll(() => text(page, '#signed-in'), WAIT).toMatch(/^Signed in as ada until/)
    expect(await page.evaluate(WHAT_IS_KEPT)).toEqual({
      address: `${service.url}/clinician.html`,
      kept: [0, 0, ''],
      state: null,
    })
    const begun = requested.find(({ href }) => href.startsWith(`${issuerUrl}/auth?`))?.searchParams
    expect(begun?.get('code_challenge_method')).toBe('S256')
    expect(begun?.get('code_challenge')).toMatch(/^[\w-]{43}$/)
    expect(begun?.get('state')).toMatch(/^[\w-]{43}$/)
    expect(begun?.get('resource')).toBe(RESOURCE)
    expect(begun?.get('redirect_uri')).toBe(`${service.url}/clinician.html`)
    for (const { href } of requested) expect(href).not.toMatch(/eyJ|access_token|code_verifier/)
    const { authorId: _, authorLabel: __, ...fields } = medication
    await fillWrite(page, fields)
    await page.click('#send')
    await page.waitForSelector('text=Version 1 is stored', WAIT)
    await expect.poll(() => text(page, '#before'), WAIT).toContain('by ada')
    await page.click('#sign-out')
    await expect.poll(() => text(page, '#signed-in'), WAIT).toBe('Not signed in.')
    await expect.poll(() => text(page, '#before'), WAIT).not.toContain(medication.value)
    expect(await page.isVisible('#sign-out')).toBe(false)
  })

  it('C24: the echo page asks for no more than it needs, and follows what its person may hear', async () => {
    const client = { client_id: 'care-pages', client_name: 'Care' }
    const { service } = await startBoth({
      trust: { client_id: client.client_id },
      issuer: (pageUrl) => ({
        REGISTRATION: 'off',
        CLIENTS: JSON.stringify([{ ...client, redirect_uris: [`${pageUrl}/echo.html`] }]),
      }),
    })
    await service.write({ ...medication, patient: 'maria' })
    const page = await pages.visit('/echo.html')
    await page.click('text=Sign in')
    await page.waitForURL(/interaction|auth/, WAIT)
    await allowAt(page, 'carer')
    await page.waitForSelector('#state[data-state="live"]', WAIT)
    expect(await text(page, '#records')).toContain(medication.value)
    await service.write({ ...medication, patient: 'maria', value: 'None.' })
    await expect.poll(() => text(page, `${newest} .now`), WAIT).toBe('None.')
  })

  it('C41: an issuer with an audience of its own is asked in its own words, for what the page needs, and without a resource', async () => {
    const address = 'https://login.test/tenant/v2.0'
    const scopes = ['api://care/care.read.user', 'api://care/care.write']
    const trust = { issuer: address, client_id: 'spa', audience: ['api://care'], scopes }
    await pages.start({ environment: { TRUSTED_ISSUERS: JSON.stringify([trust]) } })
    const page = await pages.visit('/echo.html')
    const metadata = {
      issuer: address,
      authorization_endpoint: `${address}/authorize?p=one`,
      token_endpoint: `${address}/token`,
    }
    const requests: string[] = []
    await page.route('https://login.test/**', (route) => {
      requests.push(route.request().url())
      return route.fulfill({ json: metadata, headers: { 'access-control-allow-origin': '*' } })
    })
    await page.click('#issuers button')
    await expect.poll(() => requests.length, WAIT).toBe(2)
    expect(requests[0]).toBe(`${address}/.well-known/openid-configuration`)
    const { searchParams } = new URL(requests[1] ?? '')
    expect(searchParams.get('scope')).toBe('api://care/care.read.user')
    expect(searchParams.get('client_id')).toBe('spa')
    expect(searchParams.get('p')).toBe('one')
    expect(searchParams.has('resource')).toBe(false)
  })

  it.each([
    ['code=x&state=y', 'This answer belongs to no sign-in that was begun here.'],
    ['error=access_denied&state=y', 'This answer belongs to no sign-in that was begun here.'],
  ])(
    'attack: an answer that this tab did not ask for signs nobody in: %s',
    async (query, words) => {
      const { service } = await startBoth({})
      const page = await pages.visit(`/clinician.html?${query}`)
      await expect.poll(() => text(page, '#sign-in-problem'), WAIT).toBe(words)
      expect(page.url()).toBe(`${service.url}/clinician.html`)
      expect(await text(page, '#signed-in')).toBe('Not signed in.')
    },
  )

  it('attack: an answer of another issuer, or with another state, is not redeemed', async () => {
    const { service, issuerUrl } = await startBoth({})
    for (const [iss, state, words] of [
      ['http://127.0.0.1:9', 'mine', 'This answer comes from another issuer.'],
      [issuerUrl, 'other', 'This answer belongs to no sign-in that was begun here.'],
    ] as const) {
      const begun = {
        place: { issuer: issuerUrl, hasOwnAudience: false },
        clientId: 'x',
        state: 'mine',
        verifier: 'v',
        tokenEndpoint: `${issuerUrl}/token`,
        saysIssuer: true,
      }
      const page = await pages.visit('/clinician.html')
      await page.evaluate(
        `sessionStorage.setItem('tallystick-sign-in', '${JSON.stringify(begun)}')`,
      )
      const questions: string[] = []
      page.on('request', (request) => questions.push(request.url()))
      const answer = new URLSearchParams({ code: 'c', state, iss })
      await page.goto(`${service.url}/clinician.html?${answer.toString()}`)
      await expect.poll(() => text(page, '#sign-in-problem'), WAIT).toBe(words)
      expect(questions.filter((url) => url.startsWith(issuerUrl))).toEqual([])
      expect(await page.evaluate('sessionStorage.length')).toBe(0)
    }
  })

  it('says why a sign-in does not go on: page unknown, issuer away', async () => {
    await startBoth({ issuer: () => ({ REGISTRATION: 'off' }) })
    const page = await pages.visit('/clinician.html')
    await page.click('text=Sign in')
    await expect
      .poll(() => text(page, '#sign-in-problem'), WAIT)
      .toContain('does not know this page')
    await issuer?.remove()
    issuer = undefined
    await page.click('text=Sign in')
    await expect
      .poll(() => text(page, '#sign-in-problem'), WAIT)
      .toContain('No answer that this page')
    pages.forgive()
  })

  it('a sign-in that its person does not allow', async () => {
    await startBoth({})
    const page = await pages.visit('/clinician.html')
    await page.click('text=Sign in')
    await allowAt(page, 'ada', 'deny')
    await expect
      .poll(() => text(page, '#sign-in-problem'), WAIT)
      .toBe('The sign-in was not allowed.')
  })
})
