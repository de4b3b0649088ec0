/**
 * A browser for the tests of the pages, and what every page is watched for: a script's error, a message on the console, a
 * dialog, and a request to anywhere but the service each fail the test that saw it.
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import {
  type Browser,
  type BrowserContextOptions,
  type ConsoleMessage,
  chromium,
  type Page,
} from 'playwright-core'

const CHROMIUM = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'

/** Why the pages cannot be tested on this machine, in parentheses; undefined where they can. */
export const cannotRunReason = existsSync(CHROMIUM) ? undefined : `(no Chromium at ${CHROMIUM})`

/** A name that is no loopback one and leads here all the same. */
export const OTHER_HOST = 'grading.test'

export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--host-resolver-rules=MAP ${OTHER_HOST} 127.0.0.1`,
    ],
  })
}

/** A page, and what went wrong on it. */
export type WatchedPage = { readonly page: Page; readonly faults: string[] }

/** Chromium reports every 400 and 402 of a call as an error: here they are answers. */
const isAnswer = (message: ConsoleMessage): boolean =>
  /status of 40[02]/.test(message.text()) &&
  /\/api\/(grade|audit|coverage)$/.test(message.location().url)

/** Opens a page in a context of its own. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions & { readonly port: string },
): Promise<WatchedPage> {
  const { port, ...contextOptions } = options
  const context = await browser.newContext(contextOptions)
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('console', (message) => {
    const isLoud = message.type() === 'error' || message.type() === 'warning'
    if (isLoud && !isAnswer(message)) faults.push(`console: ${message.text()}`)
  })
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    if (new URL(request.url()).port !== port) faults.push(`request: ${request.url()}`)
  })
  return { page, faults }
}

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)

/** Runs axe-core on a page as it stands; returns what it objects to, with the elements. */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(axeSource)
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(): Promise<{
          violations: { id: string; help: string; nodes: { target: unknown[] }[] }[]
        }>
      }
    }
    const { violations } = await axe.run()
    return violations.map(
      ({ id, help, nodes }) =>
        `${id}: ${help} (${nodes.map(({ target }) => target.join(' ')).join(', ')})`,
    )
  })
}
