/**
 * How the echo page keeps listening, and what it keeps to itself, in Chromium against the complete service: real stores,
 * sessions, signatures, speech and network.
 */
import { describe, expect, it } from 'vitest'
import {
  corrected,
  describePages,
  fillWrite,
  medication,
  newest,
  text,
  USER,
  WAIT,
} from './page-browser.fixture.ts'

/** How long the pages’ tokens live. */
const TOKEN_LIFE_MS = 3_600_000

// What runs in the page is a string, since this file is compiled without the browser's types.
const WHAT_IS_KEPT = `({
  address: location.href,
  kept: [localStorage.length, sessionStorage.length, document.cookie],
  state: history.state,
  typed: Array.from(document.querySelectorAll('input'), ({ value }) => value),
})`

describePages((pages) => {
  it('C24: the echo page in heron’s home never hears of wren', async () => {
    const service = await pages.start()
    await service.write({ ...medication, patient: 'heron' })
    await service.write({ ...medication, patient: 'wren', value: 'Walk ten minutes.' })
    const echo = await pages.listen({ scope: 'care.read.user:heron' })
    await service.write({ ...medication, patient: 'wren', value: 'Walk twenty minutes.' })
    await service.write({ ...medication, patient: 'wren', domain: 'diet', value: 'No grapefruit.' })
    await service.write({ ...medication, patient: 'heron', value: corrected })
    await echo.waitForSelector('article[data-kind="correction"]', WAIT)
    expect(await text(echo, `${newest} .now`)).toBe(corrected)
    expect(await echo.content()).not.toMatch(/wren|Walk|grapefruit/)
    expect(await echo.locator('#announcement article').count()).toBe(1)
  })

  describe('a lost connection', () => {
    it('is resumed after the last event: a correction missed meanwhile is shown and said', async () => {
      const service = await pages.start()
      await service.write(medication)
      const echo = await pages.listen()
      const resumed: (string | undefined)[] = []
      echo.on('request', (request) => {
        const isStream = request.method() === 'GET' && request.url().endsWith('/mcp')
        if (isStream) resumed.push(request.headers()['last-event-id'])
      })
      service.network.cut()
      await echo.waitForSelector('#state[data-state="waiting"]', WAIT)
      await service.write({ ...medication, value: 'Take no tablet today.' })
      await service.write({ ...medication, value: corrected })
      expect(await echo.locator('#announcement article').count()).toBe(0)
      service.network.mend()
      await echo.waitForSelector('#latest[data-voice="speaking"]', WAIT)
      expect(await text(echo, `${newest} .now`)).toBe(corrected)
      expect(await text(echo, newest)).toContain('Last shown here was version 1')
      // C29: what this listener was told is taken back, not what it never heard.
      const takenBack = await text(echo, `${newest} .retraction`)
      expect(takenBack).toContain(medication.value)
      expect(takenBack).not.toContain('no tablet')
      expect(await echo.locator('#announcement article').count()).toBe(1)
      expect(await text(echo, '#state')).toBe('Listening')
      expect(resumed.some((lastEventId) => lastEventId !== undefined)).toBe(true)
    })

    it('to a service that forgot the session: a new one is opened and everything read again', async () => {
      const service = await pages.start()
      await service.write(medication)
      const echo = await pages.listen()
      service.network.cut()
      await service.write({ ...medication, value: corrected })
      await service.restart({ keepsSessions: false })
      service.network.mend()
      await echo.waitForSelector('article[data-kind="correction"]', WAIT)
      expect(await text(echo, `${newest} .now`)).toBe(corrected)
      await service.write({ ...medication, value: 'Take three.' })
      await expect.poll(() => text(echo, `${newest} .now`), WAIT).toBe('Take three.')
    })

    it('C3: a stream that falls silent, without even a keep-alive, is abandoned and resumed', async () => {
      const service = await pages.start()
      await service.write(medication)
      const echo = await pages.visit('/echo.html')
      await echo.clock.install()
      await echo.fill('#token', service.token(USER))
      await echo.click('#listen button')
      await echo.waitForSelector('#records[aria-busy="false"]', WAIT)
      const resumed: string[] = []
      echo.on('request', (request) => {
        const lastEventId = request.headers()['last-event-id']
        if (lastEventId !== undefined) resumed.push(lastEventId)
      })
      await echo.clock.fastForward(34_000)
      expect(resumed).toEqual([])
      await echo.clock.fastForward(2_000)
      await expect.poll(() => resumed.length, WAIT).toBe(1)
      await service.write({ ...medication, value: corrected })
      await echo.waitForSelector('article[data-kind="correction"]', WAIT)
    })

    it('C5: to a service that restarted: the session goes on, nothing is missed', async () => {
      const service = await pages.start()
      await service.write(medication)
      const echo = await pages.listen()
      const opened: string[] = []
      echo.on('request', (request) => {
        if (request.postData()?.includes('"initialize"') === true) opened.push(request.url())
      })
      service.network.cut()
      await service.write({ ...medication, value: corrected })
      await service.restart({ keepsSessions: true })
      service.network.mend()
      await echo.waitForSelector('article[data-kind="correction"]', WAIT)
      expect(await text(echo, `${newest} .now`)).toBe(corrected)
      expect(opened).toEqual([])
    })

    it('C14: a write without an answer is sent again unchanged, and stored once', async () => {
      const service = await pages.start()
      const page = await pages.visit(`/clinician.html#secret=${service.writeSecret}`)
      await fillWrite(page, medication)
      // The service stores it, and the answer is lost on its way.
      await page.route('**/write', async (route) => {
        await route.fetch()
        await route.abort()
      })
      await page.click('#send')
      await page.waitForSelector('text=No answer came.', WAIT)
      await page.unroute('**/write')
      await page.click('text=Send the same again')
      await expect.poll(() => text(page, '#outcome-title'), WAIT).toBe('Version 1 is stored')
    })
  })

  describe('tokens and secrets', () => {
    it('C19: a link’s token leaves the address bar, and is kept in memory only', async () => {
      const service = await pages.start()
      await service.write(medication)
      const echo = await pages.listen()
      const places = await echo.evaluate(WHAT_IS_KEPT)
      expect(places).toEqual({
        address: `${service.url}/echo.html`,
        kept: [0, 0, ''],
        state: null,
        typed: ['on', ''],
      })
      await echo.reload()
      await echo.waitForSelector('#listen', WAIT)
      expect(await text(echo, '#state')).toBe('Not listening')
    })

    it('C19: a link’s secret goes into its field and out of the address bar', async () => {
      const service = await pages.start()
      const page = await pages.visit(`/clinician.html#secret=${service.writeSecret}`)
      await expect.poll(() => page.inputValue('#secret')).toBe(service.writeSecret)
      expect(page.url()).toBe(`${service.url}/clinician.html`)
      await page.reload()
      expect(await page.inputValue('#secret')).toBe('')
    })

    it.each([
      [-60, 'The token has expired. Ask for a new one.'],
      [60, 'The token was not signed by this service’s issuer.'],
    ])('a refused token (%s s) says why, and asks for another', async (lifetime, words) => {
      const service = await pages.start()
      await service.write(medication)
      const good = service.token(USER, lifetime)
      const token = lifetime > 0 ? `${good.slice(0, -6)}AAAAAA` : good
      const echo = await pages.visit('/echo.html')
      await echo.fill('#token', token)
      await echo.click('#listen button')
      await expect.poll(() => text(echo, '#token-problem'), WAIT).toBe(words)
      expect(await text(echo, '#state')).toBe('The service refused the token')
      await echo.fill('#token', service.token(USER))
      await echo.keyboard.press('Enter')
      await echo.waitForSelector('#records li', WAIT)
    })

    it('C4: a token that expires while the page listens ends the session, with the reason', async () => {
      const service = await pages.start()
      await service.write(medication)
      const echo = await pages.listen()
      await echo.waitForSelector('#records li', WAIT)
      service.passTime(TOKEN_LIFE_MS)
      await expect
        .poll(() => text(echo, '#token-problem'), WAIT)
        .toBe('The token has expired. Ask for a new one.')
      expect(await echo.locator('#records li').count()).toBe(0)
    })

    it('internal records are never shown or said, whatever the token may read', async () => {
      const service = await pages.start()
      await service.write(medication)
      const plan = { ...medication, domain: 'plan', audience: 'assistant' }
      await service.write({ ...plan, value: 'Watch for dizziness.' })
      const echo = await pages.listen({ scope: `${USER} care.read.assistant` })
      await service.write({ ...plan, value: 'Watch for falls.' })
      await service.write({ ...medication, value: corrected })
      await echo.waitForSelector('article[data-kind="correction"]', WAIT)
      const whole = await echo.content()
      for (const word of ['dizziness', 'falls', 'plan', 'care-internal'])
        expect(whole).not.toContain(word)
    })
  })
})
