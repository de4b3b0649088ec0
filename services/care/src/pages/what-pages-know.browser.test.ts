/**
 * C39: pages say only what they know, in Chromium against the complete service: on a browser that lacks something, with a
 * service that falls silent, and where names are private.
 */
import { axeFindings, newerInStyle, WITHOUT_NEWER } from '@tallystick/page-testing'
import { expect, it } from 'vitest'
import { issuerKey, startIssuer } from '../testing/issuer.fixture.ts'
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

/** What the pages' check asks for, and what takes it away. */
const NEEDED = {
  AbortController: 'delete window.AbortController',
  'Array.prototype.at': 'delete Array.prototype.at',
  'Element.prototype.replaceChildren': 'delete Element.prototype.replaceChildren',
  'Object.hasOwn': 'delete Object.hasOwn',
  'Response.prototype.body': 'delete Response.prototype.body',
  'SubmitEvent.prototype.submitter': 'delete SubmitEvent.prototype.submitter',
  'String.prototype.replaceAll': 'delete String.prototype.replaceAll',
  TextDecoder: 'delete window.TextDecoder',
  reportError: 'delete window.reportError',
}

describePages((pages) => {
  it('C39: a browser of 2022: the echo page hears, the clinician publishes, the overview has its verdict', async () => {
    const service = await pages.start()
    await service.write(medication)
    const echo = await pages.listen({ before: WITHOUT_NEWER })
    expect(await text(echo, '#records-title')).toBe('What may be said now')
    const clinician = await pages.visit(`/clinician.html#secret=${service.writeSecret}`, {
      before: WITHOUT_NEWER,
    })
    await fillWrite(clinician, { ...medication, value: corrected })
    await clinician.press('#value', 'Control+Enter')
    await expect.poll(() => text(clinician, '#outcome-title'), WAIT).toBe('Version 2 is stored')
    await expect.poll(() => text(echo, `${newest} .now`), WAIT).toBe(corrected)
    const overview = await pages.visit('/', { before: WITHOUT_NEWER })
    await expect.poll(() => text(overview, '#verdict-words'), WAIT).toBe('The one chain is intact')
    for (const page of [echo, clinician, overview])
      expect(await page.locator('#browser-check').count()).toBe(0)
  })

  it('C39: an older one: what it lacks is said by name, and the page does not claim to listen or to try again', async () => {
    const service = await pages.start()
    await service.write(medication)
    const path = `/echo.html#token=${service.token(USER)}`
    const echo = await pages.visit(path, { before: 'delete window.TextDecoder' })
    await echo.waitForSelector('#state[data-state="failed"]', WAIT)
    expect(await text(echo, '#browser-check')).toBe(
      'This browser lacks TextDecoder. This page works from Safari 15.4, Chrome 103 or Firefox 102 on.',
    )
    expect(await text(echo, '#state')).toMatch(/^This page failed \(.*TextDecoder/)
    expect(await text(echo, '#records-title')).not.toContain('now')
    expect(await echo.isVisible('#count')).toBe(false)
    expect(await echo.locator('#records li').count()).toBe(0)
  })

  it.each(Object.entries(NEEDED))(
    'C39: a browser without %s is told so in one sentence, on every page',
    async (name, before) => {
      await pages.start()
      for (const path of ['/', '/clinician.html', '/echo.html', '/reads.html', '/timeline.html']) {
        const page = await pages.visit(path, { before })
        await page.waitForSelector('#browser-check', WAIT)
        expect(await text(page, '#browser-check'), path).toBe(
          `This browser lacks ${name}. This page works from Safari 15.4, Chrome 103 or Firefox 102 on.`,
        )
      }
      pages.forgive()
    },
  )

  it('C39: what a style sheet has that an older browser lacks only changes looks', async () => {
    const service = await pages.start()
    const style = await (await fetch(`${service.url}/pages/style.css`)).text()
    expect(newerInStyle(style)).toEqual([
      // A frame around the chosen one of some radio buttons, which show it themselves, and how tall a plain text is.
      ':has',
      'accent-color',
      // The ground of notes and rows.
      'color-mix()',
      // Phones draw their own focus and have no corner to pull.
      'outline',
      'resize',
      'scrollbar-gutter',
      'text-wrap',
    ])
  })

  it('C39: a script that fails, or does not load, is said on the page', async () => {
    await pages.start()
    const broken = await pages.visit('/', {
      before:
        'delete Document.prototype.createTextNode; Element.prototype.append = () => { throw new TypeError("no append") }',
    })
    await broken.waitForSelector('#browser-check', WAIT)
    expect(await text(broken, '#browser-check')).toContain('A part of this page failed')
    pages.forgive()
  })

  it('C39: no frame for 15 s: the list says how old it is, and not "now"; the next frame makes it current', async () => {
    const service = await pages.start()
    await service.write(medication)
    const echo = await pages.listen({ hasClock: true })
    expect(await text(echo, '#state')).toBe('Listening')
    expect(await text(echo, '#as-of')).toMatch(/^As of /)
    await echo.clock.fastForward(16_500)
    await expect.poll(() => text(echo, '#state'), WAIT).toBe('Nothing heard from the service')
    expect(await text(echo, '#records-title')).toMatch(/^What could be said at /)
    expect(await text(echo, '#as-of')).toMatch(/^This is 15 s old: .*may have been corrected/)
    await service.write({ ...medication, value: corrected })
    await expect.poll(() => text(echo, '#records-title'), WAIT).toBe('What may be said now')
    expect(await text(echo, '#state')).toBe('Listening')
  })

  it('C39: a lost connection: the list is at once no longer what may be said "now"', async () => {
    const service = await pages.start()
    await service.write(medication)
    const echo = await pages.listen()
    service.network.cut()
    await echo.waitForSelector('#state[data-state="waiting"]', WAIT)
    expect(await text(echo, '#records-title')).toMatch(/^What could be said at /)
    service.network.mend()
    await expect.poll(() => text(echo, '#records-title'), WAIT).toBe('What may be said now')
  })

  it('C39: a list that is no longer current is dimmed, stays, and says the day too once it is another one', async () => {
    const service = await pages.start()
    await service.write(medication)
    const echo = await pages.listen({ hasClock: true })
    const ink = (): Promise<string> =>
      echo.evaluate<string>('getComputedStyle(document.querySelector("#records .said")).color')
    const fresh = await ink()
    service.network.cut()
    await echo.clock.fastForward(40_000)
    await expect.poll(() => text(echo, '#records-title'), WAIT).toMatch(/^What could be said at /)
    expect(await ink()).not.toBe(fresh)
    const sameDay = await text(echo, '#records-title')
    await echo.clock.fastForward('24:00:00')
    await expect.poll(() => text(echo, '#as-of'), WAIT).toMatch(/^This is 24 h old: /)
    const title = (await text(echo, '#records-title')) ?? ''
    expect(title.length).toBeGreaterThan((sameDay ?? '').length)
    expect(title).toContain(String(new Date(Date.now()).getFullYear()))
    expect(await text(echo, '#records .said')).toBe(medication.value)
    expect(await axeFindings(echo, { inDarkToo: true })).toEqual([])
  })

  it('C37, C39: a page that stays open over midnight says "yesterday" of what was written today', async () => {
    const service = await pages.start()
    await service.write(medication)
    const echo = await pages.listen({ hasClock: true })
    await service.write({ ...medication, value: corrected })
    await expect.poll(() => text(echo, `${newest} .age`), WAIT).toMatch(/Changed today/)
    const token = service.token('care.write care.read.user')
    const clinician = await pages.visit(`/clinician.html#token=${token}`, { hasClock: true })
    await fillWrite(clinician, { patient: medication.patient, domain: medication.domain })
    await expect.poll(() => text(clinician, '#before .age'), WAIT).toMatch(/Changed today/)
    service.network.cut()
    for (const page of [echo, clinician]) await page.clock.fastForward('24:00:00')
    await expect.poll(() => text(clinician, '#before .age'), WAIT).toMatch(/Changed yesterday/)
    for (const place of ['#records', newest])
      await expect.poll(() => text(echo, `${place} .age`), WAIT).toMatch(/Changed yesterday/)
  })

  it('C39: a correction that was missed says when it was shown, and not "now"', async () => {
    const service = await pages.start()
    await service.write(medication)
    const echo = await pages.listen()
    service.network.cut()
    await echo.waitForSelector('#state[data-state="waiting"]', WAIT)
    await service.write({ ...medication, value: corrected })
    await echo.evaluate('{ const now = Date.now; Date.now = () => now() + 120_000 }')
    service.network.mend()
    await expect.poll(() => text(echo, '#arrival'), WAIT).toMatch(/^Written .*; shown at .*\d/)
  })

  it('C39: the overview: figures that nobody answers for 15 s are not "right now", and the verdict is taken back', async () => {
    const service = await pages.start()
    await service.write(medication)
    const page = await pages.visit('/', { hasClock: true })
    await expect.poll(() => text(page, '#verdict-words'), WAIT).toBe('The one chain is intact')
    expect(await text(page, '#now-title')).toBe('Right now')
    // Requests hang: nothing refuses them, and nothing answers.
    await page.route(/verify|health/, () => undefined)
    await page.clock.runFor(16_000)
    await expect.poll(() => text(page, '#now-title'), WAIT).toMatch(/^As it was at /)
    expect(await text(page, '#verdict-words')).toBe('No verdict just now')
    expect(await text(page, '#verdict-facts')).toMatch(/^Nothing was answered since /)
  })

  it('C39: the overview: a verdict that is not asked for again is dated, and silence is said only of what was asked', async () => {
    const service = await pages.start()
    await service.write(medication)
    const page = await pages.visit('/', { hasClock: true })
    await expect.poll(() => text(page, '#verdict-words'), WAIT).toBe('The one chain is intact')
    // A large store: its replay takes three seconds, and is asked for again after a minute.
    const replay = Promise.withResolvers<void>()
    await page.route(/verify$/, async (route) => {
      await replay.promise
      await route.continue()
    })
    const asking = page.waitForRequest(/verify$/)
    await page.clock.fastForward(6_000)
    await asking
    await page.clock.fastForward(3_000)
    const replayed = page.waitForResponse(/verify$/)
    replay.resolve()
    await (await replayed).finished()
    for (let rounds = 0; rounds < 5; rounds += 1) {
      const answered = page.waitForResponse(/health/)
      await page.clock.fastForward(5_500)
      await answered
    }
    await expect.poll(() => text(page, '#now-title'), WAIT).toMatch(/^As it was at /)
    expect(await text(page, '#verdict-words')).toBe('The one chain is intact')
    // Whoever fails for a moment has its verdict again soon.
    await page.unroute(/verify$/)
    await page.route(/verify$/, (route) => route.abort())
    await page.clock.fastForward(70_000)
    await expect.poll(() => text(page, '#verdict-words'), WAIT).toBe('No verdict just now')
    await page.unroute(/verify$/)
    await page.clock.fastForward(6_000)
    await expect.poll(() => text(page, '#verdict-words'), WAIT).toBe('The one chain is intact')
  })

  it('C39: VERIFY_NAMES=private: the overview says that names are private, and still what is public', async () => {
    const service = await pages.start({ environment: { VERIFY_NAMES: 'private' } })
    await service.write(medication)
    const page = await pages.visit('/')
    await expect.poll(() => text(page, '#checkpoint-size'), WAIT).toBe('1')
    expect(await text(page, '#verdict-words')).toBe('Names are private here')
    expect(await text(page, '#chains')).toContain('Private: ask /verify with a token.')
    expect(await text(page, '#content')).toContain('curl -H "authorization: Bearer $CARE_TOKEN"')
    expect(await text(page, '#now-title')).toBe('Right now')
    // Nothing stands there for what is never read.
    expect(await page.isVisible('#version-count')).toBe(false)
    expect(await page.isVisible('text=Public chains')).toBe(false)
    const token = service.token(`${USER} care.write`)
    const clinician = await pages.visit(`/clinician.html#token=${token}`)
    await expect.poll(() => clinician.locator('#patients option').count(), WAIT).toBe(1)
    expect(await text(clinician, '#write')).not.toContain('Public')
  })

  it('C39: on a phone a long correction shows the new sentence first', async () => {
    const service = await pages.start()
    await service.write({ ...medication, value: 'before '.repeat(280).trim() })
    const viewport = { width: 390, height: 800 }
    const echo = await pages.listen({ viewport })
    await service.write({ ...medication, value: 'after '.repeat(330).trim() })
    await echo.waitForSelector(`${newest} .now`, WAIT)
    const top = async (selector: string): Promise<number> =>
      (await echo.locator(`${newest} ${selector}`).boundingBox())?.y ?? Number.NaN
    expect(await top('.now')).toBeLessThan(await top('.retraction'))
    await echo.evaluate(`document.querySelector('${newest}').scrollIntoView()`)
    expect(await top('.now')).toBeLessThan(200)
  })

  it.each([
    ['جوزيف', 'دواء'],
    ['Jürgen Müller', 'Straße'],
  ])('C39: no percent-encoding where a person reads: %s, %s', async (patient, domain) => {
    const service = await pages.start()
    await service.write({ ...medication, patient, domain })
    const token = service.token(`${USER} care.write`)
    const overview = await pages.visit('/')
    await overview.waitForSelector('#chains .badge', WAIT)
    const clinician = await pages.visit(`/clinician.html#token=${token}`)
    await fillWrite(clinician, { ...medication, patient, domain, value: corrected })
    await clinician.click('#send')
    await clinician.waitForSelector('text=Version 2 is stored', WAIT)
    // The person stands before the topic, whichever way the names are written.
    const isOrdered = await overview.evaluate<boolean>(`{
      const [first, then] = Array.from(document.querySelectorAll('#chains bdi'), (name) => name.getBoundingClientRect().left)
      then === undefined || first < then
    }`)
    expect(isOrdered).toBe(true)
    for (const page of [overview, clinician]) {
      const shown = (await text(page, 'main')) ?? ''
      expect(shown).toContain(`care://${patient}/${domain}`)
      expect(shown).not.toMatch(/%[0-9A-F]{2}/)
    }
  })

  it('C39: no id where a person reads: a name where the service knows it, and else the issuer’s own', async () => {
    const issuer = await startIssuer([await issuerKey('ES256', 'one')])
    const environment = {
      BEARER_AUTHOR: 'sub',
      AUTHOR_LABELS: JSON.stringify({ [`${issuer.issuer}|ada`]: 'Ada Osei' }),
      SILENT_SECONDS: '1',
      TRUSTED_ISSUERS: JSON.stringify([{ issuer: issuer.issuer }]),
    }
    const service = await pages.start({ environment })
    await service.write(medication)
    const tokenFor = (sub: string): Promise<string> =>
      issuer.token(Date.now(), { claims: { sub, scope: `${USER} care.write` } })
    for (const sub of ['ada', 'kitchen']) {
      const echo = await pages.visit(`/echo.html#token=${await tokenFor(sub)}`)
      await echo.waitForSelector('#state[data-state="live"]', WAIT)
      await echo.close()
    }
    service.passTime(10_000)
    const page = await pages.visit(`/clinician.html#token=${await tokenFor('ada')}`)
    await expect.poll(() => text(page, '#signed-in'), WAIT).toContain('Signed in as Ada Osei until')
    const readable = await page.evaluate<string>('document.querySelector("main").innerText')
    expect(readable).not.toContain(issuer.issuer)
    expect(await page.isVisible('#authorId')).toBe(false)
    pages.forgive()
    await issuer.close()
  })

  it('C36: the clinician sees who follows without listening, and that a write reaches them only later', async () => {
    const service = await pages.start()
    await service.write(medication)
    const echo = await pages.listen()
    await echo.close()
    const away = await pages.listen()
    service.network.cut()
    await away.waitForSelector('#state[data-state="waiting"]', WAIT)
    await away.close()
    service.network.mend()
    // The service sees the end of a stream when its socket closes; only then time may pass, and no more than tokens live.
    const metrics = async (): Promise<string> => (await fetch(`${service.url}/metrics`)).text()
    await expect.poll(metrics, WAIT).toMatch(/^care_streams 0$/m)
    service.passTime(61_000)
    await expect.poll(metrics, WAIT).toMatch(/^care_silent_sessions 1$/m)
    const token = service.token('care.write')
    const clinician = await pages.visit(`/clinician.html#token=${token}`)
    await clinician.waitForSelector('#silent:visible', WAIT)
    expect(await text(clinician, '#silent-list')).toMatch(
      /^device-1, since .*medication of rosa-12$/,
    )
    await fillWrite(clinician, { ...medication, value: corrected })
    await clinician.click('#send')
    await clinician.waitForSelector('#outcome-body .note', WAIT)
    expect(await text(clinician, '#outcome-body .note')).toBe(
      'One session follows it. Not connected: 1. What does not listen hears of it only when it comes back.',
    )
  })

  it('C29: without an answer the clinician’s page does not pretend that everything was heard', async () => {
    const service = await pages.start()
    const page = await pages.visit('/clinician.html')
    await page.route('**/unheard', (route) => route.abort())
    await page.fill('#read-token', service.token('care.write'))
    await page.press('#read-token', 'Enter')
    await page.waitForSelector('#unheard-unknown:visible', WAIT)
    expect(await text(page, '#unheard-unknown')).toBe(
      'Who has not heard what is not known here. The service does not answer.',
    )
  })
})
