/**
 * The card in both its forms, in Chromium: as a host shows it, in a sandboxed frame, with the service's answer to
 * `whats_changed`. The hosts here are minimal and speak the protocols of MCP Apps (SEP-1865) and of older hosts.
 */
import { axeFindings } from '@tallystick/page-testing'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { cannotRunReason, openPage, startBrowser } from '../../pages/page-browser.fixture.ts'
import { BOTH, type ClientSession, type McpFixture, startMcp } from '../mcp.fixture.ts'

const BEFORE = 'Sugar, two spoons.'
const MARKUP = '<img src=x onerror="document.title=1"> No sugar.'

/** A host page of MCP Apps: answers `ui/initialize`, and sends the tool's result once the app says it is ready. */
const appHost = (card: string, output: unknown): string => `<!doctype html><title>host</title>
<iframe sandbox="allow-scripts"></iframe>
<script type="application/json" id="given">${JSON.stringify({ card, output }).replaceAll('<', '\\u003c')}</script>
<script>
const { card, output } = JSON.parse(document.getElementById('given').textContent)
const frame = document.querySelector('iframe')
window.heard = []
const say = (message) => frame.contentWindow.postMessage({ jsonrpc: '2.0', ...message }, '*')
window.say = say
window.addEventListener('message', ({ source, data }) => {
  if (source !== frame.contentWindow) return
  window.heard.push(data)
  if (data.method === 'ui/initialize')
    say({ id: data.id, result: { protocolVersion: data.params.protocolVersion, hostInfo: { name: 'host', version: '1' }, hostCapabilities: {}, hostContext: {} } })
  if (data.method === 'ui/notifications/initialized')
    say({ method: 'ui/notifications/tool-result', params: { content: [], structuredContent: output } })
})
frame.srcdoc = card
</script>`

/** A host of the older form: `window.openai` exists before the card's own script runs. */
const globalsHost = (card: string, output: unknown): string => {
  const globals = JSON.stringify({ toolOutput: output }).replaceAll('<', '\\u003c')
  return card.replace('<script>', () => `<script>window.openai = ${globals}</script><script>`)
}

describe.skipIf(cannotRunReason !== undefined)(
  `C12: the card in a browser ${cannotRunReason ?? ''}`,
  () => {
    let browser: Browser
    let fixture: McpFixture
    let session: ClientSession
    let page: Page
    let faults: string[]

    beforeAll(async () => {
      browser = await startBrowser()
    })
    afterAll(() => browser.close())
    afterEach(async () => {
      await page.context().close()
      await fixture.close()
      if (faults.length > 0) throw new Error(`The card had faults:\n${faults.join('\n')}`)
    })

    const begin = async (options: Parameters<typeof startMcp>[0] = {}): Promise<void> => {
      fixture = await startMcp(options)
      session = await fixture.open(BOTH)
      ;({ page, faults } = await openPage(browser))
    }
    const readCard = async (uri: string) => {
      const { contents } = await session.result('resources/read', { uri })
      const [card] = contents as { readonly mimeType: string; readonly text: string }[]
      return card ?? { mimeType: '', text: '' }
    }
    const whatsChanged = async (): Promise<unknown> => {
      const params = { name: 'whats_changed', arguments: { patient: 'ann' } }
      return (await session.result('tools/call', params))['structuredContent']
    }

    it('ui://care/echo-app: an MCP Apps host initializes it and hands over the result; value and retraction are read, markup is text', async () => {
      await begin()
      await fixture.write({ domain: 'tea', value: BEFORE })
      await fixture.write({ domain: 'tea', value: MARKUP })
      const { mimeType, text } = await readCard('ui://care/echo-app')
      expect(mimeType).toBe('text/html;profile=mcp-app')
      await page.setContent(appHost(text, await whatsChanged()))
      const card = page.frameLocator('iframe')
      await card.locator('.value').waitFor()
      expect(await card.locator('.value').allTextContents()).toEqual([MARKUP])
      expect(await card.locator('.correction').textContent()).toContain(BEFORE)
      expect(await card.locator('img').count()).toBe(0)
      expect(await card.locator('#empty').isHidden()).toBe(true)
      await page.evaluate(`say({ id: 'bye', method: 'ui/resource-teardown', params: {} })`)
      await expect
        .poll(() => page.evaluate('heard'))
        .toContainEqual({ jsonrpc: '2.0', id: 'bye', result: {} })
      const heard = await page.evaluate<{ method?: string; params?: object }[]>('heard')
      expect(heard.map(({ method }) => method)).toEqual([
        'ui/initialize',
        'ui/notifications/initialized',
        undefined,
      ])
      expect(heard[0]?.params).toMatchObject({ protocolVersion: '2026-01-26' })
    })

    it('ui://care/echo: a host of the older form sets window.openai, and later globals replace what is shown', async () => {
      await begin()
      await fixture.write({ domain: 'tea', value: BEFORE })
      await fixture.write({ domain: 'tea', value: MARKUP })
      const { mimeType, text } = await readCard('ui://care/echo')
      expect(mimeType).toBe('text/html+skybridge')
      await page.setContent(globalsHost(text, await whatsChanged()))
      expect(await page.locator('.value').allTextContents()).toEqual([MARKUP])
      expect(await page.locator('.correction').textContent()).toContain(BEFORE)
      await fixture.write({ domain: 'tea', value: 'Milk only.' })
      const globals = JSON.stringify({ globals: { toolOutput: await whatsChanged() } })
      await page.evaluate(
        `window.dispatchEvent(new CustomEvent('openai:set_globals', { detail: ${globals} }))`,
      )
      await expect.poll(() => page.locator('.value').allTextContents()).toContain('Milk only.')
      expect(await page.title()).toBe('Care record')
    })

    it('C45: nothing of an older value turns the card or is unseen in it', async () => {
      await begin()
      await fixture.write({ domain: 'tea', value: BEFORE })
      await fixture.write({ domain: 'tea', value: 'Take \u202e05\u202c mg.\nNow.\u001b' })
      const { text } = await readCard('ui://care/echo')
      await page.setContent(globalsHost(text, await whatsChanged()))
      const shown = String.raw`Take \u{202E}05\u{202C} mg.` + '\n' + String.raw`Now.\u{1B}`
      expect(await page.locator('.value').allTextContents()).toEqual([shown])
      expect(await page.locator('.correction').textContent()).toContain(shown.replace('\n', '\n> '))
    })

    it('C34: of an older version it says first that it was replaced and by what; C39: it says its time', async () => {
      await begin()
      await fixture.write({ domain: 'tea', value: BEFORE })
      await fixture.write({ domain: 'tea', value: MARKUP })
      const { text } = await readCard('ui://care/echo')
      const read = { name: 'read_record', arguments: { uri: 'care://ann/tea/1' } }
      const { structuredContent } = await session.result('tools/call', read)
      await page.setContent(globalsHost(text, structuredContent))
      const lines = await page.locator('article p').allTextContents()
      expect(lines.slice(0, 3)).toEqual([
        'tea',
        `Version 1 was replaced by version 2. It is now “${MARKUP}” What follows no longer holds.`,
        BEFORE,
      ])
      expect(await page.locator('#as-of').textContent()).toMatch(/^As of .*2026.* UTC\.$/)
      expect(await page.locator('body').textContent()).not.toMatch(/holds now/)
    })

    it.each([
      ['read_record', { uri: 'care://ann/tea' }],
      ['whats_changed', { patient: 'ann' }],
    ])(
      'C40: by %s of a withdrawn record it says so in place of a value, and what to disregard',
      async (name, input) => {
        await begin()
        await fixture.write({ domain: 'tea', value: BEFORE })
        await fixture.write({ domain: 'tea', value: '', status: 'wrong-person' })
        const { text } = await readCard('ui://care/echo')
        const call = { name, arguments: input }
        const { structuredContent } = await session.result('tools/call', call)
        await page.setContent(globalsHost(text, structuredContent))
        const said = 'This record was withdrawn. It was recorded for the wrong person.'
        expect(await page.locator('.value').allTextContents()).toEqual([said])
        expect(await page.locator('.correction').textContent()).toContain(`disregard “${BEFORE}`)
      },
    )

    it('C37: it is in the service’s language, from the right where that is written so', async () => {
      await begin({ language: 'ar' })
      await fixture.write({ domain: 'tea', value: BEFORE })
      const { text } = await readCard('ui://care/echo')
      expect(text).toContain('لم يصل أي جواب بعد.')
      await page.setContent(globalsHost(text, await whatsChanged()))
      expect(await page.locator('#as-of').textContent()).toMatch(/^حتى .*2026.* UTC/)
      expect(await page.locator('h1').textContent()).toBe('سجلات الرعاية')
      expect(await page.locator('html').getAttribute('dir')).toBe('rtl')
      await page.evaluate(
        `window.dispatchEvent(new CustomEvent('openai:set_globals', { detail: { globals: { toolOutput: { changed: [] } } } }))`,
      )
      expect(await page.locator('#empty').textContent()).toBe('لم يتغير شيء.')
    })

    it('C39: on its own it says that no answer has arrived, and axe finds nothing to object to', async () => {
      await begin()
      const { text } = await readCard('ui://care/echo')
      await page.setContent(text)
      expect(await page.locator('#empty').textContent()).toBe('No answer has arrived yet.')
      // The test injects axe past the card's policy.
      expect(await axeFindings(page)).toEqual([])
    })
  },
)
