/** C37: no page of a service in another language shows English, in any state, in Chromium against the complete service. */
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { englishIn } from './english-in.fixture.ts'
import { describePages, fillWrite, newest, text, USER, WAIT } from './page-browser.fixture.ts'

/** Every text and label of the document but what is marked as English or as code, and what the browser itself says of a fault. */
const TEXTS = `(() => {
  const isOwn = (element) => element !== null && element.closest('[lang="en"], pre, .mono, script, style') === null
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT)
  const texts = [document.title, document.querySelector('meta[name="description"]').content]
  while (walker.nextNode()) if (isOwn(walker.currentNode.parentElement)) texts.push(walker.currentNode.data)
  for (const element of document.querySelectorAll('[aria-label], [title], [placeholder], [alt]'))
    if (isOwn(element)) texts.push(...['aria-label', 'title', 'placeholder', 'alt'].map((name) => element.getAttribute(name) ?? ''))
  return texts.map((text) => text.replace(/\\(\\w*Error: [^)]*\\)/g, '')).filter((text) => text.trim() !== '')
})()`

const RECORD = {
  patient: 'rosa-12',
  domain: 'ramipril',
  value: 'Ramipril 5 mg.',
  authorId: 'dr-okafor',
  authorLabel: 'Dr Okafor',
}

/** What the service may answer a write, one after the other. */
const REFUSALS = [
  [409, { error: 'version_conflict', version: 7 }],
  [409, { error: 'erased' }],
  [409, { error: 'nothing_to_withdraw' }],
  [409, { error: 'conflict' }],
  [500, { error: 'internal_error' }],
  [401, { error: 'unauthorized' }],
] as const

const since = '2026-11-21T12:00:00.000Z'
const uri = 'care://rosa-12/ramipril'
const UNHEARD = {
  minutes: 1,
  corrections: [{ uri, version: 2, since }],
  silentSeconds: 60,
  silent: [{ sub: 'kitchen', since, records: 3, uris: [uri] }],
}

/** One language has every state; that the words of the others are not English's, page-words.test.ts shows. */
const LANGUAGES =
  process.env['TALLYSTICK_LONG'] === '1' ? ['ar', 'de', 'es', 'fr', 'it', 'nl', 'pl', 'tr'] : ['de']

describePages((pages) => {
  it.each(LANGUAGES)('C37: %s: no page shows English, in any of its states', async (language) => {
    const environment = { LANGUAGE: language, READ_AUDIT: 'all' }
    const service = await pages.start({ environment, hasVoice: false })
    const token = service.token(`${USER} care.write`, 3_600, 'dr-okafor')
    const found: Record<string, readonly string[]> = {}
    const look = async (page: Page, state: string): Promise<void> => {
      const english = englishIn(await page.evaluate<readonly string[]>(TEXTS), language)
      if (english.length > 0) found[state] = english
    }

    const overview = await pages.visit('/')
    await overview.waitForSelector('#verdict.good', WAIT)
    await look(overview, 'overview, empty')
    await service.write(RECORD)
    await overview.reload()
    await overview.waitForSelector('#chains .badge', WAIT)
    await look(overview, 'overview')
    await overview.route(/verify$/, (route) => route.fulfill({ status: 503 }))
    await overview.reload()
    await overview.waitForSelector('#verdict.warn', WAIT)
    await look(overview, 'overview, without a verdict')

    const clinician = await pages.visit('/clinician.html')
    await look(clinician, 'clinician, signed out')
    for (const typed of [
      { patient: '', domain: '' },
      { patient: 'a/b', domain: ' a', value: '\u0007', priority: '7', authorId: '\u200b' },
      { patient: 'a'.repeat(300), domain: 'a\u200bb', value: 'x'.repeat(262_144) },
    ]) {
      await clinician.evaluate(
        'for (const one of document.querySelectorAll("details")) one.open = true',
      )
      await fillWrite(clinician, typed)
      await clinician.click('#send')
      await clinician.waitForSelector('[aria-invalid]', WAIT)
      await look(clinician, `clinician, problems of ${Object.keys(typed).join()}`)
    }
    for (const bad of ['nonsense', service.token(USER, -60), service.token(USER)]) {
      const before = await text(clinician, '#signed-in')
      await clinician.fill('#read-token', bad)
      await expect.poll(() => text(clinician, '#signed-in'), WAIT).not.toBe(before)
      await look(clinician, 'clinician, a token that may not publish')
    }
    await clinician.goto(`${service.url}/clinician.html?state=a&code=b#token=${token}`)
    await expect.poll(() => text(clinician, '#sign-in-problem'), WAIT).not.toBe('')
    await look(clinician, 'clinician, an answer to no sign-in')

    await clinician.goto(`${service.url}/clinician.html#token=${token}`)
    await fillWrite(clinician, { patient: 'rosa-12', domain: 'nada' })
    await expect.poll(() => clinician.inputValue('#authorId'), WAIT).toBe('dr-okafor')
    await look(clinician, 'clinician, no version before')
    await fillWrite(clinician, { domain: 'ramipril', value: RECORD.value })
    await clinician.waitForSelector('#before .said', WAIT)
    await look(clinician, 'clinician, the same sentence')
    await clinician.check('[value="assistant"]')
    await look(clinician, 'clinician, for assistants')
    await clinician.check('[value="user"]')
    await fillWrite(clinician, { value: 'Ramipril 10 mg.' })
    await look(clinician, 'clinician, a correction')
    const outcome = async (state: string, answer: () => Promise<unknown>): Promise<void> => {
      const title = await text(clinician, '#outcome-title')
      await answer()
      await clinician.click('#send')
      await expect.poll(() => text(clinician, '#outcome-title'), WAIT).not.toBe(title)
      await look(clinician, `clinician, ${state}`)
    }
    for (const [status, json] of REFUSALS)
      await outcome(json.error, () =>
        clinician.route(/write$/, (route) => route.fulfill({ status, json })),
      )
    await outcome('no answer', () => clinician.route(/write$/, (route) => route.abort()))
    await outcome('stored', () => clinician.unroute(/write$/))
    await clinician.route(/unheard$/, (route) => route.fulfill({ json: UNHEARD }))
    await clinician.fill('#domain', 'ramipril-2')
    await clinician.waitForSelector('#silent-list li', WAIT)
    await look(clinician, 'clinician, corrections that nobody has heard')
    await clinician.route(/unheard$/, (route) => route.abort())
    await clinician.fill('#domain', 'ramipril')
    await clinician.waitForSelector('#unheard-unknown:not([hidden])', WAIT)
    await look(clinician, 'clinician, nobody knows')

    const refused = await pages.visit(`/echo.html#token=${service.token(USER, -60)}`)
    await refused.waitForSelector('#state[data-state="refused"]', WAIT)
    await look(refused, 'echo, a token that is refused')
    const echo = await pages.listen({ hasClock: true })
    await service.write({ ...RECORD, domain: 'old', staleAfter: '2020-01-01T00:00:00Z' })
    await echo.waitForSelector(`${newest}[data-kind="new"]`, WAIT)
    await look(echo, 'echo, a new record, stale')
    await service.write({ ...RECORD, value: 'Ramipril 2 mg.' })
    await echo.waitForSelector(`${newest}[data-kind="correction"]`, WAIT)
    await look(echo, 'echo, a correction')
    await service.write({ ...RECORD, value: undefined, status: 'entered-in-error' })
    await echo.waitForSelector(`${newest}[data-kind="withdrawn"]`, WAIT)
    await look(echo, 'echo, withdrawn')
    await clinician.goto(
      `${service.url}/clinician.html#token=${token}&patient=rosa-12&domain=ramipril`,
    )
    await clinician.waitForSelector('#before .said', WAIT)
    await look(clinician, 'clinician, withdrawn')
    await echo.clock.fastForward(16_500)
    await echo.waitForSelector('#state[data-state="silent"]', WAIT)
    await look(echo, 'echo, silent')
    service.network.cut()
    await echo.waitForSelector('#state[data-state="waiting"]', WAIT)
    await look(echo, 'echo, offline')
    service.network.mend()
    const busy = await pages.visit('/')
    await busy.context().route(/mcp$/, (route) => route.fulfill({ status: 503, json: {} }))
    await busy.goto(`${service.url}/echo.html#token=${service.token(USER)}`)
    await busy.waitForSelector('#state[data-state="waiting"]', WAIT)
    await look(busy, 'echo, the service answers an error')

    const reads = await pages.visit(`/reads.html#token=${service.token(USER)}&patient=rosa-12`)
    await look(reads, 'reads')
    const rows = async (): Promise<number> => {
      await reads.click('button.main')
      return await reads.locator('#rows tr').count()
    }
    await expect.poll(rows, WAIT).toBeGreaterThan(0)
    await look(reads, 'reads, of a person')
    await reads.route(/reads\?/, (route) => route.fulfill({ status: 403, json: {} }))
    await reads.click('button.main')
    await reads.waitForSelector('#rows:empty', { ...WAIT, state: 'attached' })
    await look(reads, 'reads, not allowed')

    for (const path of ['/', '/clinician.html', '/echo.html', '/reads.html', '/timeline.html']) {
      const page = await pages.visit(path, { before: 'delete window.TextDecoder' })
      await page.waitForSelector('#browser-check', WAIT)
      await look(page, `${path} in an old browser`)
    }
    expect(found).toEqual({})
    pages.forgive()
  })
})
