/** The page of calibration, in Chromium against the whole service on a local X Layer. */
import { describe, expect, it } from 'vitest'
import {
  START_SECONDS,
  sampleBatch,
  sampleObservation,
  samplePrices,
  scored,
} from '../testing/samples.fixture.ts'
import { cannotRunReason, text, useSite, WAIT } from './site.fixture.ts'

describe.skipIf(cannotRunReason !== undefined)(
  `calibration, plotted, in a browser ${cannotRunReason ?? ''}`,
  () => {
    const site = useSite()

    it('every band with settled picks is in the plot with its interval and in the table with its figures', async () => {
      const { column } = await site.calibration()
      const page = await site.visit('/calibration')
      await page.waitForSelector('#plot .mark', WAIT)
      expect(await page.locator('#plot .mark').count()).toBe(
        column.bands.filter(({ n }) => n > 0).length,
      )
      expect(await page.locator('#plot .perfect').count()).toBeGreaterThan(0)
      expect(await page.locator('#rows tr').count()).toBe(6)
      const first = await text(page, '#rows tr:first-child')
      expect(first).toContain('A+')
      expect(first).toContain(
        `${((column.bands[0]?.roi ?? 0) * 100).toFixed(1).replace('-', '')}\u00a0%`,
      )
      expect(first).toContain('low sample')
      expect(await text(page, '#low-sample')).toContain('17,000')
      expect(await text(page, '#line-words')).toContain('slope')
    })

    it('G17: the verdict stands beside its two tests, all gaps at once and slope with intercept, and a figure of the six gaps', async () => {
      const { column } = await site.calibration()
      const page = await site.visit('/calibration')
      await page.waitForSelector('#joint .side', WAIT)
      const tests = (await page.locator('#joint .side').allTextContents()).join(' ')
      const { joint } = column
      if (joint === null) throw new Error('too few picks for the tests')
      for (const { chi_square: chiSquare, degrees } of [joint.gaps, joint.line])
        expect(tests).toContain(`χ² ${chiSquare.toFixed(1)} on ${degrees} degrees`)
      expect(tests).toContain('All gaps at once')
      expect(tests).toContain('Slope and intercept')
      expect(await page.locator('#gaps .gap').count()).toBe(
        column.bands.filter(({ gap_z: gap }) => gap !== null).length,
      )
    })

    it('the reference study is a block of its own under its label, with its figures, on a phone too', async () => {
      const { study } = await site.calibration()
      const page = await site.visit('/calibration', { viewport: { width: 360, height: 740 } })
      await page.waitForSelector('#study-plot .mark', WAIT)
      expect(await text(page, '#study-label')).toBe(study.label)
      expect(await page.locator('#study-files li').count()).toBe(study.files.length)
      expect(await page.locator('#study-plot .mark').count()).toBe(6)
      expect(await page.locator('#study-bands tbody tr').count()).toBe(6)
      expect(await text(page, '#study-bands tbody tr:first-child')).toContain('64,763')
      expect(await page.locator('#study-lines li').count()).toBe(study.lines.length)
      expect(await text(page, '#study-lines')).toContain('uneven')
      expect(await page.locator('#study-closing tbody tr').count()).toBe(study.closing.length)
      // What is counted live changes nothing of it.
      const before = await text(page, '#study-section')
      await page.check('input[name="basis"][value="price"]')
      await expect.poll(() => text(page, '#population-words'), WAIT).toContain('price alone')
      expect(await text(page, '#study-section')).toBe(before)
      const wide = await page.evaluate<string[]>(
        '[...document.querySelectorAll("#study-section *")].filter((part) => part.closest(".scroll") === null && part.getBoundingClientRect().right > 361).map((part) => part.outerHTML.slice(0, 80))',
      )
      expect(wide).toEqual([])
    })

    it('marks stand at their figures: zero returns on the zero line, promises in order', async () => {
      const page = await site.visit('/calibration')
      await page.waitForSelector('#plot .mark', WAIT)
      const { column } = await site.calibration()
      const places = await page.evaluate<{ band: string; x: number; y: number }[]>(
        `[...document.querySelectorAll('#plot .mark')].map((mark) => {
          const dot = mark.querySelector('circle')
          return { band: mark.dataset.band, x: Number(dot.getAttribute('cx')), y: Number(dot.getAttribute('cy')) }
        })`,
      )
      const zero = await page.evaluate<number>(
        `Number(document.querySelector('#plot .zero').getAttribute('y1'))`,
      )
      for (const { band, y } of places) {
        const roi = column.bands.find((row) => row.band === band)?.roi
        expect(Math.sign(zero - y), `${band} returned ${roi}`).toBe(Math.sign(roi ?? 0))
      }
      const inOrder = places.toSorted((left, right) => right.x - left.x).map(({ band }) => band)
      expect(inOrder).toEqual(['A+', 'A', 'B', 'C', 'D', 'F'])
    })

    it('basis, population and scope can be switched, and are in the address', async () => {
      const page = await site.visit('/calibration')
      await page.waitForSelector('#plot .mark', WAIT)
      const fair = await text(page, '#rows')
      await page.check('input[name="basis"][value="price"]')
      await expect.poll(() => text(page, '#rows'), WAIT).not.toBe(fair)
      expect(new URL(page.url()).searchParams.get('basis')).toBe('price')
      expect(await text(page, '#population-words')).toContain('closing price alone')
      await page.check('input[name="population"][value="committed"]')
      await page.waitForSelector('#plot .empty', WAIT)
      expect(await text(page, '#line-verdict')).toBe('No such pick has settled yet.')
      const again = await site.visit(`/calibration${new URL(page.url()).search}`)
      await again.waitForSelector('#plot .empty', WAIT)
      expect(await again.isChecked('input[name="basis"][value="price"]')).toBe(true)
      expect(await again.isChecked('input[name="population"][value="committed"]')).toBe(true)
    })

    it('marks synthetic data, and does not mark real markets', async () => {
      const page = await site.visit('/calibration')
      await page.waitForSelector('#synthetic:visible', WAIT)
      const real = await site.xlayer().startService('real.db')
      const early = samplePrices({ odds: { home: '2.20', draw: '3.6', away: '3.9' } })
      const snapshots = [{ ...early, capturedAtSeconds: START_SECONDS - 3_600 }]
      await real.store.ingest(
        sampleBatch([
          sampleObservation({ snapshots, closes: [samplePrices()], outcomes: scored(2, 1) }),
        ]),
      )
      const answer = await page.request.post(`${real.baseUrl}/api/calibration`)
      expect((await answer.json()).columns[0].scope).toBe('all')
      await page.route('**/api/calibration', async (route) =>
        route.fulfill({ response: await page.request.post(`${real.baseUrl}/api/calibration`) }),
      )
      await page.check('input[name="basis"][value="price"]')
      await expect.poll(() => page.isVisible('#synthetic'), WAIT).toBe(false)
      await real.stop()
    })

    it('a silent service is reported, not shown as empty', async () => {
      const page = await site.visit('/calibration')
      await page.waitForSelector('#plot .mark', WAIT)
      await page.route('**/api/calibration', (route) => route.abort())
      await page.check('input[name="basis"][value="price"]')
      await page.waitForSelector('#state.bad', WAIT)
      expect(await text(page, '#state')).toContain('cannot be read right now')
      site.forgive()
    })
  },
)
