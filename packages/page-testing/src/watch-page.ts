import type { Browser, BrowserContextOptions, ConsoleMessage, Page } from 'playwright-core'

/** Ends a hang: a busy machine takes many times as long for a click as a quiet one. */
const PAGE_MS_MAX = 120_000

/** A page, and what went wrong on it so far. */
export type WatchedPage = { readonly page: Page; readonly faults: string[] }

/**
 * Opens a page in a context of its own. A script's error, an error or warning on the console (a breach of the page's policy
 * is one) and a dialog each count as a fault, unless the test provokes it; with `port`, a request to any other port too.
 */
export async function watchPage(
  browser: Browser,
  options: {
    readonly context?: BrowserContextOptions
    /** What the tests do on purpose, as Chromium tells it. */
    readonly isProvoked?: (message: ConsoleMessage) => boolean
    /** Of the one server that the page may ask. */
    readonly port?: string
  } = {},
): Promise<WatchedPage> {
  const { context, isProvoked = () => false, port } = options
  const page = await (await browser.newContext(context)).newPage()
  page.setDefaultTimeout(PAGE_MS_MAX)
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('console', (message) => {
    const isLoud = message.type() === 'error' || message.type() === 'warning'
    if (isLoud && !isProvoked(message)) faults.push(`console: ${message.text()}`)
  })
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    const { protocol, port: requestPort } = new URL(request.url())
    const isHere = protocol === 'data:' || protocol === 'blob:' || requestPort === port
    if (port !== undefined && !isHere) faults.push(`request: ${request.url()}`)
  })
  return { page, faults }
}
