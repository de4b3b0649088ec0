/** The browser of grading's page tests: another name for this machine, and which refusals are answers. */
import {
  chromiumMissing,
  launchChromium,
  type WatchedPage,
  watchPage,
} from '@tallystick/page-testing'
import type { Browser, BrowserContextOptions, ConsoleMessage } from 'playwright-core'

/** Why the pages cannot be tested on this machine, in parentheses; undefined where they can. */
export const cannotRunReason = chromiumMissing === undefined ? undefined : `(${chromiumMissing})`

/** A name that is no loopback one and leads here all the same. */
export const OTHER_HOST = 'grading.test'

export async function startBrowser(): Promise<Browser> {
  return await launchChromium([`--host-resolver-rules=MAP ${OTHER_HOST} 127.0.0.1`])
}

/** Chromium reports every 400 and 402 of a call as an error: here they are answers. */
const isProvoked = (message: ConsoleMessage): boolean =>
  /status of 40[02]/.test(message.text()) &&
  /\/api\/(grade|audit|coverage)$/.test(message.location().url)

/** Opens a page in a context of its own; it may ask the server on this port alone. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions & { readonly port: string },
): Promise<WatchedPage> {
  const { port, ...context } = options
  return await watchPage(browser, { context, isProvoked, port })
}
