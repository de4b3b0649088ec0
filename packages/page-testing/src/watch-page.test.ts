import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, ConsoleMessage } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { axeFindings } from './axe-findings.ts'
import { chromiumMissing, launchChromium } from './launch-chromium.ts'
import { policyBreaches, tryPolicy } from './try-policy.ts'
import { watchPage } from './watch-page.ts'

const GOOD =
  '<!doctype html><html lang="en"><title>Good</title><main><h1>Good</h1></main><script>console.info("fine")</script>'
const BAD = `<!doctype html><html><body><img src="https://elsewhere.test/x.png"><script>
  console.warn('a warning'); console.error('provoked'); alert('a question'); throw new Error('a bug')
</script>`
const isProvoked = (message: ConsoleMessage): boolean => message.text() === 'provoked'
const POLICY = "default-src 'none'; require-trusted-types-for 'script'"

describe.skipIf(chromiumMissing !== undefined)(
  `a page in a browser ${chromiumMissing ?? ''}`,
  () => {
    let browser: Browser
    let server: Server
    let port: string
    beforeAll(async () => {
      browser = await launchChromium()
      server = createServer(({ url }, response) => {
        response.setHeader('content-type', 'text/html')
        if (url === '/guarded') response.setHeader('content-security-policy', POLICY)
        response.end(url === '/bad' ? BAD : GOOD)
      })
      await new Promise<void>((resolve) => {
        server.listen(0, '127.0.0.1', resolve)
      })
      port = String((server.address() as AddressInfo).port)
    })
    afterAll(async () => {
      await browser.close()
      server.close()
    })
    const visit = async (path: string) => {
      const watched = await watchPage(browser, { isProvoked, port })
      await watched.page.goto(`http://127.0.0.1:${port}${path}`)
      return watched
    }

    it('that does nothing wrong has no fault', async () => {
      const { page, faults } = await visit('/')
      expect(await axeFindings(page)).toEqual([])
      expect(faults).toEqual([])
    })

    it('has a fault for each error, warning, dialog and request elsewhere, but for none that is provoked', async () => {
      const { page, faults } = await visit('/bad')
      const expected = [
        'console: a warning',
        'dialog: a question',
        'error: a bug',
        'request: https://elsewhere.test/x.png',
      ]
      await expect.poll(() => faults).toEqual(expect.arrayContaining(expected))
      expect(faults).not.toContain('console: provoked')
      expect((await axeFindings(page)).join('\n')).toContain('html-has-lang')
    })

    it('without a policy lets an injected script and style do what they like', async () => {
      const { page } = await visit('/')
      expect(await tryPolicy(page)).toMatchObject({ markup: 'taken', shown: 'none', ran: true })
      expect(await policyBreaches(page)).toEqual([])
    })

    it('with a policy lets them do nothing, and says which directives they broke', async () => {
      const { page, faults } = await visit('/guarded')
      const refused = { markup: 'TypeError', elsewhere: 'kept', shown: 'block', ran: false }
      expect(await tryPolicy(page)).toEqual(refused)
      const directives = ['connect-src', 'img-src', 'style-src-elem', 'require-trusted-types-for']
      await expect.poll(() => policyBreaches(page)).toEqual(expect.arrayContaining(directives))
      expect(faults).not.toEqual([])
    })
  },
)
