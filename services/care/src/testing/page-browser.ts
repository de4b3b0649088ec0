/**
 * A browser for the tests of the pages, and what every page is watched for: a script's error, a message on the console and a
 * breach of its policy each fail the test that saw it.
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
import { findEspeak } from '../adapters/espeak-speech.ts'

const CHROMIUM = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'

const missing = [
  ...(existsSync(CHROMIUM) ? [] : [`no Chromium at ${CHROMIUM}`]),
  ...(findEspeak(process.env['PATH'] ?? '') === undefined ? ['no espeak-ng in PATH'] : []),
]
/** Why the pages cannot be tested on this machine, in parentheses; undefined where they can. */
export const cannotRunReason = missing.length === 0 ? undefined : `(${missing.join(', ')})`

/** Starts Chromium; sounds start without a gesture unless told otherwise. */
export function startBrowser(
  options: { readonly mayAutoplay?: boolean; readonly extraArguments?: readonly string[] } = {},
): Promise<Browser> {
  const { mayAutoplay = true, extraArguments = [] } = options
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
      `--autoplay-policy=${mayAutoplay ? 'no-user-gesture-required' : 'document-user-activation-required'}`,
      ...extraArguments,
    ],
  })
}

/** A page, and what went wrong on it. */
export type WatchedPage = { readonly page: Page; readonly faults: string[] }

/** What tests do on purpose, as Chromium tells it: a network that is cut, and refusals of these two routes. */
const isProvoked = (message: ConsoleMessage): boolean =>
  message.text().includes('net::ERR_') ||
  (message.text().includes('status of 4') && /\/(mcp|write)$/.test(message.location().url))

/** Opens a page in a context of its own. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
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
