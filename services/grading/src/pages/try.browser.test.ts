/** The forms: looking up, checking, paying on a local X Layer, reading cards. Who pays: try-payer.browser.test.ts. */
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import {
  cannotRunReason,
  fillPick,
  HOSTILE,
  HOSTILE_MARKET,
  MARKET,
  payFor,
  text,
  useSite,
  WAIT,
} from './site.fixture.ts'

const focusedId = (page: Page): Promise<string> =>
  page.evaluate<string>('document.activeElement?.id ?? ""')

describe.skipIf(cannotRunReason !== undefined)(
  `the forms in a browser ${cannotRunReason ?? ''}`,
  () => {
    const site = useSite()

    describe('a grade', () => {
      it('worked case: won, price worse than the close, a poor grade, side by side on one card', async () => {
        const payer = site.xlayer().account('agent-2')
        const before = await site.balanceOf(payer)
        const page = await site.visitWithKey('agent-2')
        await fillPick(page, { odds: '1.95' })
        expect(await text(page, '#grade-send')).toBe('Pay $0.01 and grade')
        await payFor(page, 'GRADED')
        expect(await site.balanceOf(payer)).toBe(before - 10_000n)
        const [scoreboard, closing] = await page.locator('#outcome .side').allTextContents()
        expect(scoreboard).toContain('Won')
        expect(scoreboard).toContain('2–1')
        expect(closing).toContain('D')
        expect(closing).toContain('−6.6')
        const card = await text(page, '#outcome')
        expect(card).toContain('4.9 % worse than the close')
        expect(card).toContain('What D has returned')
        expect(card).toMatch(/0x[0-9a-f]{64}/)
      })

      it('its receipt leads to the current card', async () => {
        const page = await site.visitWithKey('agent-3')
        await fillPick(page, { odds: '2.20' })
        await payFor(page, 'GRADED')
        const href = await page.getAttribute('#outcome a[href^="/api/picks/"]', 'href')
        const answer = await fetch(new URL(href ?? '', site.service().baseUrl))
        expect(await answer.json()).toMatchObject({ outcome: 'GRADED', grade: 'A' })
      })

      it('against a synthetic close says so on the card', async () => {
        const page = await site.visitWithKey('agent-3')
        await page.fill('#find-text', 'synthetic united')
        await page.click('#find button[type=submit]')
        await page.locator('.found button[data-close="final"]').first().click(WAIT)
        await page.locator('#selection-chips button').first().click(WAIT)
        await page.fill('#odds', '2.00')
        await payFor(page, 'GRADED')
        expect(await text(page, '#outcome .note.warn')).toContain('Synthetic data.')
      })

      it('UNGRADED: the reason, what the ledger does have, and no made-up number', async () => {
        const payer = site.xlayer().account('agent-4')
        const before = await site.balanceOf(payer)
        const page = await site.visitWithKey('agent-4')
        await fillPick(page, {
          market: 'soccer/epl.20260601.ars-che/total/ft/2.5',
          selection: 'over',
          odds: '1.9',
        })
        await expect.poll(() => text(page, '#market-cover'), WAIT).toContain('would be UNGRADED')
        await payFor(page, 'UNGRADED')
        const card = await text(page, '#outcome')
        expect(card).toContain('The ledger has no closing price of this market.')
        expect(card).toContain('No closing price is ever made up.')
        expect(card).not.toMatch(/%|fair/)
        expect(await site.balanceOf(payer)).toBe(before - 10_000n)
      })

      it('G3: malformed input is reported beside its field, before anything is signed, and costs nothing', async () => {
        const payer = site.xlayer().account('agent-5')
        const before = await site.balanceOf(payer)
        const page = await site.visitWithKey('agent-5')
        const headers: (string | undefined)[] = []
        page.on('request', (request) => {
          if (request.url().endsWith('/api/grade'))
            headers.push(request.headers()['payment-signature'])
        })
        await fillPick(page, { odds: '0.9' })
        await page.click('#grade-send')
        await expect.poll(() => text(page, '#odds-problem'), WAIT).toContain('odds above 1')
        expect(await focusedId(page)).toBe('odds')
        await fillPick(page, { market: 'soccer/x', selection: '', odds: '2' })
        await page.click('#grade-send')
        await expect
          .poll(() => text(page, '#market-problem'), WAIT)
          .toContain('sport/event/type/period')
        expect(await text(page, '#odds-problem')).toBe('')
        expect(headers).toEqual([undefined, undefined])
        expect(await site.balanceOf(payer)).toBe(before)
      })

      it('what the look-up found wrong with the market stays while another field is reported', async () => {
        const page = await site.visitWithKey('agent-5')
        await fillPick(page, { market: 'soccer/x', selection: '', odds: '2' })
        const marketProblem = () => text(page, '#market-problem')
        await expect.poll(marketProblem, WAIT).toContain('sport/event/type/period')
        await page.click('#grade-send')
        await expect.poll(() => text(page, '#selection-problem'), WAIT).toContain('a selection')
        expect(await marketProblem()).toContain('sport/event/type/period')
        await page.fill('#market', MARKET)
        expect(await marketProblem()).toBe('')
      })

      it('clicked twice, it is paid once', async () => {
        const payer = site.xlayer().account('agent-5')
        const before = await site.balanceOf(payer)
        const page = await site.visitWithKey('agent-5')
        await fillPick(page, { odds: '1.90' })
        await page.dblclick('#grade-send')
        await page.waitForSelector('#outcome [data-outcome="GRADED"]', WAIT)
        expect(await site.balanceOf(payer)).toBe(before - 10_000n)
      })

      it('whose answer was cut off is requested again with the same payment', async () => {
        const payer = site.xlayer().account('agent-6')
        const before = await site.balanceOf(payer)
        const page = await site.visitWithKey('agent-6')
        let cuts = 0
        await page.route('**/api/grade', async (route) => {
          if (route.request().headers()['payment-signature'] === undefined || cuts > 0)
            return route.continue()
          cuts += 1
          await route.fetch()
          return route.abort()
        })
        await fillPick(page, { odds: '1.90' })
        await payFor(page, 'GRADED')
        expect(cuts).toBe(1)
        expect(await site.balanceOf(payer)).toBe(before - 10_000n)
        site.forgive()
      })

      it('can be done with the keyboard alone', async () => {
        const page = await site.visitWithKey('agent-2')
        await page.focus('#find-text')
        await page.keyboard.press('ControlOrMeta+a')
        await page.keyboard.type('arsenal')
        await page.keyboard.press('Enter')
        await page.waitForSelector('.found button', WAIT)
        for (let tabs = 0; tabs < 8; tabs += 1) {
          await page.keyboard.press('Tab')
          const market = await page.evaluate<string>(
            'document.activeElement?.dataset?.market ?? ""',
          )
          if (market !== '') break
        }
        await page.keyboard.press('Enter')
        await expect.poll(() => focusedId(page), WAIT).toBe('selection')
        expect(await page.inputValue('#market')).toBe(MARKET)
        await page.keyboard.type('home')
        await page.focus('#odds')
        await page.keyboard.type('2.20')
        await page.keyboard.press('Enter')
        await page.waitForSelector('#outcome [data-outcome="GRADED"]', WAIT)
        expect(await focusedId(page)).toBe('result')
      })

      it('names that are markup are shown as text and never run', async () => {
        const page = await site.visitWithKey('agent-2')
        await page.fill('#find-text', 'villa img')
        await page.click('#find button[type=submit]')
        await page.waitForSelector('.found li', WAIT)
        expect(await text(page, '.found')).toContain(HOSTILE)
        await fillPick(page, { market: HOSTILE_MARKET, odds: '2.00' })
        await payFor(page, 'GRADED')
        expect(await text(page, '#outcome .teams')).toContain(HOSTILE)
        expect(await page.locator('main img').count()).toBe(0)
      })
    })

    describe('an audit', () => {
      it('G5: raw return beside the Sharp Score, edge and luck, coverage, and a card for every pick', async () => {
        const payer = site.xlayer().account('agent-7')
        const before = await site.balanceOf(payer)
        const page = await site.visitWithKey('agent-7')
        await page.check('input[value="audit"]')
        await page.fill(
          '#picks',
          [
            'market,selection,odds,ref,closing odds',
            `${MARKET},home,1.95,first,9.99`,
            `${MARKET},draw,7/2,,`,
            `soccer/none/1x2/ft,home,2,,`,
          ].join('\n'),
        )
        await expect
          .poll(() => text(page, '#preview'), WAIT)
          .toContain('2 of 3 picks would be graded. 1 not gradable.')
        await page.check('#keep-ungraded')
        await payFor(page, 'AUDIT')
        expect(await site.balanceOf(payer)).toBe(before - 200_000n)
        const [raw, sharp] = await page.locator('#outcome .side').allTextContents()
        expect(raw).toContain('−2.5')
        expect(sharp).toContain('of 100')
        const whole = await text(page, '#outcome')
        expect(whole).toContain('Edge and luck')
        expect(whole).toContain('Your record says otherwise')
        expect(whole).toContain('By price taken')
        expect(whole).toContain('2 of 3')
        const cards = '#outcome [aria-label="The cards"]'
        expect(await page.locator(`${cards} tbody tr`).count()).toBe(3)
        expect(await text(page, `${cards} tbody tr:first-child`)).toContain('first')
        expect(await text(page, `${cards} tbody tr:last-child`)).toContain('UNGRADED')
      })

      it('faults are reported by line, before anything is signed', async () => {
        const page = await site.visitWithKey('agent-7')
        await page.check('input[value="audit"]')
        await page.fill('#picks', `${MARKET}, home, 1.95\n${MARKET}, home`)
        await page.click('#audit-send')
        await expect
          .poll(() => text(page, '#preview'), WAIT)
          .toContain('odds: expected the price that was taken.')
        await page.fill('#picks', `${MARKET}, home, 1.95\n\n${MARKET}, home, 1.95`)
        await expect
          .poll(() => text(page, '#preview'), WAIT)
          .toContain('Line 3 · Arsenal v Chelsea, 2026-06-01, Match result: Arsenal (home)')
        expect(await text(page, '#preview')).toContain('It is the same bet as an earlier row')
      })

      it('a tracker’s file: each bet is named before the payment, and what is unclear is asked', async () => {
        const payer = site.xlayer().account('agent-7')
        const before = await site.balanceOf(payer)
        const page = await site.visitWithKey('agent-7')
        await page.check('input[value="audit"]')
        await page.setInputFiles('#file', {
          name: 'bets.csv',
          mimeType: 'text/csv',
          // As spreadsheets save Unicode.
          buffer: Buffer.from(
            [
              '\uFEFFDate,Home,Away,Market,Selection,Odds',
              '2026-06-01,Arsenal London,CFC Chelsea,1X2,Arsenal,110',
              '2026-06-01,Arsenal,Chelsea,1X2,Draw,3.60',
              '2026-06-01,Chelsea,Arsenal,1X2,Draw,3.60',
              '2026-06-01,Arsenal,Chelsea,Corners,Over 9.5,1.90',
            ].join('\n'),
            'utf16le',
          ),
        })
        await expect
          .poll(() => text(page, '#preview'), WAIT)
          .toContain('1 of 4 picks would be graded.')
        expect(await text(page, '#preview')).toContain(
          'The ledger has: soccer/epl.20260601.ars-che/1x2/ft',
        )
        await page.selectOption('#notation', 'american')
        await expect.poll(() => text(page, '#preview'), WAIT).toContain('2 of 4 picks')
        await payFor(page, 'AUDIT')
        expect(await site.balanceOf(payer)).toBe(before - 200_000n)
        expect(await text(page, '#outcome')).toContain('2 of 2')
      })

      it('G21: its questions are answered in place, one click each; the answers outlive the next look and are paid for', async () => {
        const page = await site.visitWithKey('agent-7')
        await page.check('input[value="audit"]')
        await page.fill(
          '#picks',
          [
            'Date,Home,Away,Market,Selection,Odds',
            '2026-06-01,Arsenal,Chelsea,1X2,Arsenal,1.95',
            '2026-06-01,Arsenal,Chelsea,1X2,Arsenal,30',
            '2026-06-01,Arsenal,Chelsea,1X2,Draw,40',
            '01/06/2026,Arsenal,Chelsea,1X2,Draw,3.60',
            '2026-06-01,Arsenal,Chelsea,Corners,Over 9.5,1.90',
          ].join('\n'),
        )
        const preview = () => text(page, '#preview')
        await expect
          .poll(preview, WAIT)
          .toContain('1 of 5 picks would be graded. 3 questions, 1 not gradable.')
        const groups = await page.locator('#preview h3').allTextContents()
        expect(groups).toEqual(['3 questions for you', 'Not gradable, because'])
        const first = page.getByRole('button', { name: 'Yes, 30 was my price' })
        await first.focus()
        await page.keyboard.press('Enter')
        await expect.poll(preview, WAIT).toContain('2 of 5 picks would be graded. 2 questions')
        expect(await text(page, '#picks-count')).toBe('2 questions left.')
        // The keyboard goes on to the next question.
        const focused = 'document.activeElement?.textContent ?? ""'
        const next = await page.evaluate<string>(focused)
        expect(next).toBe('the day comes first')
        await page.keyboard.press('Enter')
        await expect.poll(preview, WAIT).toContain('3 of 5 picks would be graded. 1 question')
        await page.getByRole('button', { name: 'Leave it out' }).click()
        await expect.poll(preview, WAIT).toContain('3 of 5 picks would be graded. 2 not gradable.')
        expect(await preview()).toContain('You left it out.')
        expect(await page.evaluate<string>('document.activeElement?.id ?? ""')).toBe('audit-send')
        // An answer can be taken back.
        await page.locator('details:has-text("You left it out.") button').click()
        await expect.poll(preview, WAIT).toContain('1 question')
        await payFor(page, 'AUDIT')
        const whole = await text(page, '#outcome')
        expect(whole).toContain('3 of 3')
        expect(whole).toContain('A+')
      })

      it('G22: where the record differs from the ledger is shown before the payment', async () => {
        const page = await site.visitWithKey('agent-7')
        await page.check('input[value="audit"]')
        await page.fill(
          '#picks',
          'Date,Home,Away,Market,Selection,Odds,Closing Odds\n2026-06-01,Arsenal,Chelsea,1X2,Arsenal,1.95,9.5',
        )
        const preview = () => text(page, '#preview')
        await expect.poll(preview, WAIT).toContain('where your record differs from the ledger')
        expect(await preview()).toContain('Your record has a closing price of 9.5')
      })

      it('paid for while a slow look at the pasted record is under way, it waits for that look and is paid once', async () => {
        const payer = site.xlayer().account('agent-7')
        const before = await site.balanceOf(payer)
        const page = await site.visitWithKey('agent-7')
        await page.check('input[value="audit"]')
        const pending = Promise.withResolvers<void>()
        let looks = 0
        await page.route('**/api/coverage', async (route) => {
          looks += 1
          await pending.promise
          return route.continue()
        })
        await page.clock.install()
        await page.fill('#picks', `${MARKET}, home, 1.95\n${MARKET}, draw, 3.60`)
        await page.dblclick('#audit-send')
        await expect.poll(() => looks, WAIT).toBe(1)
        // Typing pauses long enough for the look that follows it.
        await page.clock.fastForward(2_000)
        pending.resolve()
        await page.waitForSelector('#outcome [data-outcome="AUDIT"]', WAIT)
        expect(looks).toBe(1)
        expect(await site.balanceOf(payer)).toBe(before - 200_000n)
      })

      it('an example can be filled in and submitted', async () => {
        const page = await site.visitWithKey('agent-7')
        await page.check('input[value="audit"]')
        await page.click('#example')
        await expect
          .poll(() => text(page, '#preview'), WAIT)
          .toMatch(/^(\d+) of \1 picks? would be graded\./)
      })
    })
  },
)
