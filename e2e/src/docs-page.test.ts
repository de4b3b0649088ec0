// Each service's API reference in a browser: it shows every operation with a call to copy, finds by words, asks no other server,
// and axe finds nothing to object to.
import { axeFindings, chromiumMissing, launchChromium, watchPage } from '@tallystick/page-testing'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { z } from 'zod'

const SERVICES = ['access', 'care', 'grading'] as const
const OpenApi = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) })

const stack = inject('stack')
let browser: Browser

describe.skipIf(chromiumMissing !== undefined)(
  `/docs in a browser ${chromiumMissing ?? ''}`,
  () => {
    beforeAll(async () => {
      browser = await launchChromium()
    })

    afterAll(async () => {
      await browser.close()
    })

    it.each(SERVICES)(
      '%s: every operation, no error, no other host, and axe finds nothing',
      async (service) => {
        const { baseUrl } = stack.description[service]
        const { page, faults } = await watchPage(browser, {
          context: { viewport: { width: 1_200, height: 1_600 } },
          port: new URL(baseUrl).port,
        })
        await page.goto(`${baseUrl}/docs`)
        const { paths } = OpenApi.parse(await (await fetch(`${baseUrl}/openapi.json`)).json())
        const operations = Object.entries(paths).flatMap(([path, methods]) =>
          Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
        )
        const shown = await page.locator('h3 > code').allTextContents()
        expect(shown.toSorted()).toEqual(operations.toSorted())
        expect(await axeFindings(page, { inDarkToo: true })).toEqual([])
        const calls = await page.locator('.operation .request code').allTextContents()
        expect(calls.every((call) => call.includes(`'${baseUrl}/`))).toBe(true)
        expect(calls).toHaveLength(operations.length)
        await page.fill('#find', 'readiness')
        const left = page.locator('.operation:not([hidden]) h3 > code')
        expect(await left.allTextContents()).toContain('GET /ready')
        expect(await left.count()).toBeLessThan(operations.length)
        expect(await page.textContent('#found')).toMatch(/^\d+ of \d+ are left\.$/)
        await page.fill('#find', '')
        await page.setViewportSize({ width: 360, height: 800 })
        expect(await page.locator('html').evaluate((root) => root.scrollWidth)).toBeLessThanOrEqual(
          360,
        )
        const shots = process.env['SCREENSHOT_FOLDER']
        if (shots !== undefined) await page.screenshot({ path: `${shots}/docs-${service}.png` })
        expect(faults).toEqual([])
        await page.context().close()
      },
    )
  },
)
