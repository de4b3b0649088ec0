/** The browser of care's page tests: its voice, and what the tests provoke on purpose. */
import {
  chromiumMissing,
  launchChromium,
  type WatchedPage,
  watchPage,
} from '@tallystick/page-testing'
import type { Browser, BrowserContextOptions, ConsoleMessage } from 'playwright-core'
import { findEspeak } from '../adapters/espeak-speech.ts'

const espeakMissing =
  findEspeak(process.env['PATH'] ?? '') === undefined ? 'no espeak-ng in PATH' : undefined
const missing = [chromiumMissing, espeakMissing].filter((reason) => reason !== undefined)
/** Why the pages cannot be tested on this machine, in parentheses; undefined where they can. */
export const cannotRunReason = missing.length === 0 ? undefined : `(${missing.join(', ')})`

/** Starts Chromium; sounds start without a gesture unless told otherwise. */
export async function startBrowser(
  options: { readonly mayAutoplay?: boolean; readonly extraArguments?: readonly string[] } = {},
): Promise<Browser> {
  const { mayAutoplay = true, extraArguments = [] } = options
  const autoplay = mayAutoplay ? 'no-user-gesture-required' : 'document-user-activation-required'
  return await launchChromium([`--autoplay-policy=${autoplay}`, ...extraArguments])
}

/** What tests do on purpose, as Chromium tells it: a network that is cut, and refusals of these two routes. */
const isProvoked = (message: ConsoleMessage): boolean =>
  message.text().includes('net::ERR_') ||
  (message.text().includes('status of 4') && /\/(mcp|write)$/.test(message.location().url))

/** Opens a page in a context of its own. */
export async function openPage(
  browser: Browser,
  context: BrowserContextOptions = {},
): Promise<WatchedPage> {
  return await watchPage(browser, { context, isProvoked })
}
