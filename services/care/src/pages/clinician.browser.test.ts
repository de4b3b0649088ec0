/** The clinician's form, in Chromium against the complete service: real stores, sessions, signatures, speech and network. */
import { axeFindings } from '@tallystick/page-testing'
import { describe, expect, it } from 'vitest'
import { issuerKey, startIssuer } from '../testing/issuer.fixture.ts'
import {
  corrected,
  describePages,
  fillWrite,
  focusedId,
  medication,
  newest,
  OTHER_HOST,
  text,
  USER,
  WAIT,
} from './page-browser.fixture.ts'

describePages((pages) => {
  describe('the clinician’s form', () => {
    it('is written and published with the keyboard alone', async () => {
      const service = await pages.start()
      const page = await pages.visit('/clinician.html')
      const type = async (words: string): Promise<void> => {
        await page.keyboard.press('Tab')
        await page.keyboard.type(words)
      }
      await page.focus('#patient')
      await page.keyboard.type(medication.patient)
      await type(medication.domain)
      await type(medication.value)
      await page.keyboard.press('Tab')
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('ArrowUp')
      await page.keyboard.press('Tab')
      expect(await page.evaluate<string>('document.activeElement.tagName')).toBe('SUMMARY')
      await page.keyboard.press('Enter')
      await page.keyboard.press('Tab')
      await page.keyboard.press('Escape')
      for (let part = 0; part < 8; part += 1) {
        if ((await focusedId(page)) === 'priority') break
        await page.keyboard.press('Tab')
      }
      await page.keyboard.type('0.5')
      await type(medication.authorId)
      await type(medication.authorLabel)
      await type(service.writeSecret)
      await page.keyboard.press('Tab')
      expect(await focusedId(page)).toBe('send')
      await page.keyboard.press('Enter')
      await page.waitForSelector('text=Version 1 is stored', WAIT)
      expect(await focusedId(page)).toBe('outcome-title')
    })

    it('checks its fields itself, names each problem and moves to the first', async () => {
      await pages.start()
      const page = await pages.visit('/clinician.html')
      await fillWrite(page, { patient: 'a/b', domain: 'medication', authorId: 'x' })
      const requests: string[] = []
      page.on('request', (request) => requests.push(request.url()))
      await page.click('#send')
      expect(await text(page, '#patient-problem')).toBe('This cannot hold “/” or “|”.')
      expect(await text(page, '#value-problem')).toBe('Write the sentence that is to be said.')
      expect(await text(page, '#secret-problem')).toBe(
        'Sign in with a token that may publish, or paste the write secret.',
      )
      expect(await page.getAttribute('#patient', 'aria-invalid')).toBe('true')
      expect(await page.getAttribute('#domain', 'aria-invalid')).toBe(null)
      expect(await focusedId(page)).toBe('patient')
      expect(requests).toEqual([])
    })

    it('a wrong secret: says that the service does not say why, and what the page can tell', async () => {
      await pages.start()
      const page = await pages.visit('/clinician.html#secret=not-the-secret')
      await fillWrite(page, medication)
      await page.click('#send')
      await page.waitForSelector('text=Refused', WAIT)
      const outcome = await text(page, '#outcome')
      expect(outcome).toContain('This computer’s clock is accurate enough')
      expect(outcome).toContain('So the write secret is most likely wrong.')
      expect(await page.inputValue('#value')).toBe(medication.value)
    })

    it('a clock that is off: says by how much', async () => {
      const service = await pages.start()
      const page = await pages.visit('/clinician.html')
      await page.clock.setFixedTime(Date.now() + 400_000)
      await fillWrite(page, { ...medication, secret: service.writeSecret })
      await page.click('#send')
      await expect
        .poll(() => text(page, '#outcome'), WAIT)
        .toMatch(/clock is (39[0-9]|40[01]) s ahead of the service’s/)
    })

    it('pressing the button twice writes once', async () => {
      const service = await pages.start()
      const page = await pages.visit(`/clinician.html#secret=${service.writeSecret}`)
      await fillWrite(page, medication)
      await page.evaluate('send.click(); send.click()')
      await expect.poll(() => text(page, '#outcome-title'), WAIT).toBe('Version 1 is stored')
      expect((await service.write(medication)).version).toBe(2)
    })

    it('409: says that a record of the other audience is fixed', async () => {
      const service = await pages.start()
      await service.write(medication)
      const page = await pages.visit(`/clinician.html#secret=${service.writeSecret}`)
      await fillWrite(page, medication)
      await page.check('[name="audience"][value="assistant"]')
      await page.click('#send')
      await expect
        .poll(() => text(page, '#outcome-title'), WAIT)
        .toBe('Not stored: the audience differs')
    })

    it('a field loses its red as soon as it is mended', async () => {
      await pages.start()
      const page = await pages.visit('/clinician.html')
      await fillWrite(page, { patient: 'a/b', domain: 'medication', authorId: 'x'.repeat(257) })
      await page.click('#send')
      expect(await page.getAttribute('#patient', 'aria-invalid')).toBe('true')
      await page.fill('#patient', 'a|b')
      expect(await page.getAttribute('#patient', 'aria-invalid')).toBe('true')
      await page.fill('#patient', 'rosa-12')
      expect(await page.getAttribute('#patient', 'aria-invalid')).toBe(null)
      expect(await text(page, '#patient-problem')).toBe('')
      // The others stay as they are until they are mended too.
      expect(await page.getAttribute('#value', 'aria-invalid')).toBe('true')
      await page.fill('#secret', 'anything')
      expect(await page.getAttribute('#secret', 'aria-invalid')).toBe(null)
    })

    it('two clinicians sign in and correct past each other: one is told, and sees what holds now', async () => {
      const service = await pages.start()
      await service.write(medication)
      const signIn = async (sub: string) => {
        const token = service.token(`${USER} care.write`, 3_600, sub)
        const page = await pages.visit(`/clinician.html#token=${token}`)
        await expect
          .poll(() => text(page, '#signed-in'), WAIT)
          .toContain(`Signed in as ${sub} until`)
        expect(await page.isVisible('#secret')).toBe(false)
        expect(await page.inputValue('#authorId')).toBe(sub)
        await fillWrite(page, { patient: medication.patient, domain: medication.domain })
        await expect.poll(() => text(page, '#before'), WAIT).toContain(medication.value)
        return page
      }
      const osei = await signIn('dr-osei')
      const lind = await signIn('dr-lind')
      await osei.fill('#value', 'Take ten drops.')
      await lind.fill('#value', 'Take twelve drops.')
      await osei.click('#send')
      await osei.waitForSelector('text=Version 2 is stored', WAIT)
      await lind.click('#send')
      await expect
        .poll(() => text(lind, '#outcome-title'), WAIT)
        .toBe('Not stored: somebody was faster')
      // The preview is drawn anew, and the sentence is still there.
      await expect.poll(() => text(lind, '#before'), WAIT).toContain('Take ten drops.')
      expect(await text(lind, '#will-say')).toContain('disregard “Take ten drops.”')
      expect(await lind.inputValue('#value')).toBe('Take twelve drops.')
      await lind.click('#send')
      await lind.waitForSelector('text=Version 3 is stored', WAIT)
    })

    it('a token that may only read says so, and the write secret is asked for', async () => {
      const service = await pages.start()
      const page = await pages.visit(`/clinician.html#token=${service.token(USER)}`)
      const says = async (words: string): Promise<void> =>
        await expect.poll(() => text(page, '#signed-in'), WAIT).toContain(words)
      await says('to read only: this token may not publish')
      expect(await page.isVisible('#secret')).toBe(true)
      await page.fill('#read-token', service.token(USER, -60))
      await says('has expired')
      await page.fill('#read-token', service.token(''))
      await says('grants no right at this service')
      await page.fill('#read-token', 'nonsense')
      await says('This is not a token')
      pages.forgive()
    })

    it('C23: a person whose rights her issuer’s roles alone grant publishes in her own name', async () => {
      const issuer = await startIssuer([await issuerKey('ES256', 'one')])
      const grants = [{ claim: 'roles', value: 'nurse', scopes: ['care.write'] }]
      const TRUSTED_ISSUERS = JSON.stringify([{ issuer: issuer.issuer, grants }])
      await pages.start({ environment: { TRUSTED_ISSUERS } })
      const claims = { scope: undefined, roles: ['nurse'] }
      const token = await issuer.token(Date.now(), { claims })
      const page = await pages.visit(`/clinician.html#token=${token}`)
      await expect.poll(() => page.inputValue('#authorId'), WAIT).toBe(`${issuer.issuer}|ada`)
      const { authorId: _, ...fields } = medication
      await fillWrite(page, fields)
      await page.click('#send')
      await page.waitForSelector('text=Version 1 is stored', WAIT)
      pages.forgive()
      await issuer.close()
    })

    it('C29: lists the corrections that nobody has heard, to whoever may read them, until somebody has', async () => {
      const service = await pages.start({ environment: { UNHEARD_MINUTES: '1' } })
      await service.write(medication)
      await service.write({ ...medication, value: corrected })
      await service.restart({ keepsSessions: true, laterMs: 90_000 })
      const address = `/clinician.html#token=${service.token(`${USER} care.write`)}`
      const page = await pages.visit(address)
      await page.waitForSelector('#unheard', WAIT)
      expect(await text(page, '#unheard-title')).toBe('Nobody has heard these corrections')
      expect(await text(page, '#unheard-list')).toMatch(/^medication of rosa-12, since .*\d/)
      expect(await text(page, '#unheard-list')).not.toContain('amlodipine')
      expect(await axeFindings(page)).toEqual([])
      const other = `${USER}:somebody-else care.write:somebody-else`
      const stranger = await pages.visit(`/clinician.html#token=${service.token(other)}`)
      await stranger.waitForSelector('#signed-in:not(:empty)', WAIT)
      expect(await stranger.isVisible('#unheard')).toBe(false)
      await pages.listen()
      await page.evaluate('location.reload()')
      await page.fill('#read-token', service.token(`${USER} care.write`))
      await expect.poll(() => page.isVisible('#unheard'), WAIT).toBe(false)
      pages.forgive()
    })

    it('no machine text where a person reads, and URIs break behind slashes', async () => {
      const service = await pages.start()
      await service.write({ ...medication, staleAfter: '2020-01-01T00:00:00Z' })
      const echo = await pages.listen()
      expect(await text(echo, '#records')).toContain(
        'Past its review date: last changed today by Dr Okafor.',
      )
      expect(await text(echo, '#records')).not.toMatch(/\[|STALE|say this age/)
      const token = service.token(`${USER} care.write`)
      const page = await pages.visit(`/clinician.html#token=${token}`)
      await fillWrite(page, { patient: medication.patient, domain: medication.domain })
      await expect.poll(() => text(page, '#before'), WAIT).toContain('Version 1. Past its review')
      await page.fill('#value', corrected)
      await page.click('#send')
      await page.waitForSelector('text=Version 2 is stored', WAIT)
      expect(await page.innerHTML('#outcome-body')).toContain('care://<wbr>rosa-12/<wbr>medication')
    })

    it('previews the retraction from the previous version, with a token; without one says that it cannot', async () => {
      const service = await pages.start()
      await service.write(medication)
      const page = await pages.visit(`/clinician.html#secret=${service.writeSecret}`)
      await fillWrite(page, { ...medication, value: corrected })
      expect(await text(page, '#before')).toBe(
        'Not known here: this page has no token to read it with.',
      )
      expect(await text(page, '#will-say')).toBe(corrected)
      await page.fill('#read-token', service.token(USER))
      await page.keyboard.press('Enter')
      await expect.poll(() => text(page, '#before'), WAIT).toContain(medication.value)
      const preview = await text(page, '#will-say')
      expect(preview).toContain(`disregard “${medication.value}”`)
      const echo = await pages.listen()
      await page.click('#send')
      await echo.waitForSelector(`${newest} .retraction`, WAIT)
      expect(await text(echo, `${newest} .retraction`)).toBe(preview)
    })

    it('C39: with a token and no names it asks for these, and does not say that it has no token', async () => {
      const service = await pages.start()
      const page = await pages.visit(`/clinician.html#token=${service.token(USER)}`)
      await expect
        .poll(() => text(page, '#before'), WAIT)
        .toBe('Known once the person and the topic are given.')
    })

    it('without WebCrypto (plain http elsewhere) it says so and does not send', async () => {
      const service = await pages.start()
      const page = await pages.visit(
        `${service.url.replace('127.0.0.1', OTHER_HOST)}/clinician.html`,
      )
      expect(await page.isVisible('text=This page cannot sign here.')).toBe(true)
      expect(await page.isDisabled('#send')).toBe(true)
      // An opener policy has no effect on an origin without https, and Chromium says so.
      pages.forgive()
    })
  })
})
