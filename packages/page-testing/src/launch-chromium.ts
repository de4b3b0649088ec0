import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

/** Debian's; `CHROMIUM_PATH` names another. */
const CHROMIUM = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'

/** Why pages cannot be tested on this machine; undefined where they can. */
export const chromiumMissing = existsSync(CHROMIUM) ? undefined : `no Chromium at ${CHROMIUM}`

/** Starts Chromium, which asks nobody but the pages' own servers. */
export async function launchChromium(extraArguments: readonly string[] = []): Promise<Browser> {
  return await chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox', // in a container its own has no rights to set itself up
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...extraArguments,
    ],
  })
}
