// The configuration that docs/how-to/run-a-clinic.md recommends, followed line by line up to the sign-in; then what its people
// do is done on the pages, in Chromium.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { WatchedPage } from '@tallystick/page-testing'
import { freePort } from '@tallystick/service-kit'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  cannotRunReason,
  fillWrite,
  openPage,
  startBrowser,
  text,
  WAIT,
} from './page-browser.fixture.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const document = readFileSync(join(root, 'docs/how-to/run-a-clinic.md'), 'utf8')
/** Secrets and settings, start, sign in. */
const FIRST_BLOCKS = [...document.matchAll(/^```sh\n([^`]*)^```$/gm)]
  .slice(0, 3)
  .map(([, block = '']) => block)

/** Runs the first blocks in a folder of its own. What the last one leaves in its variables is returned. */
async function followHowTo() {
  const folder = mkdtempSync(join(tmpdir(), 'run-a-clinic-'))
  const script = [
    'trap \'kill "${CARE:-}" 2> /dev/null || true\' EXIT',
    ...FIRST_BLOCKS,
    'echo "HERON $HERON"',
    // Until the test ends.
    'read -r || true',
  ].join('\n')
  const bash = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
    cwd: folder,
    env: {
      PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
      TALLYSTICK: root,
      PORT: String(await freePort()),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const said: Record<string, string> = {}
  for await (const line of createInterface(bash.stdout)) {
    if (line.startsWith('http')) said['clinician'] = line
    if (line.startsWith('HERON ')) said['heron'] = line.slice('HERON '.length)
    if (said['heron'] !== undefined) break
  }
  const { clinician = '', heron = '' } = said
  return {
    clinician,
    baseUrl: new URL(clinician).origin,
    heron,
    async end() {
      const ended = once(bash, 'exit')
      bash.stdin.end()
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

describe.skipIf(cannotRunReason !== undefined)(`a clinic’s pages ${cannotRunReason ?? ''}`, () => {
  let browser: Browser
  let clinic: Awaited<ReturnType<typeof followHowTo>>
  const opened: WatchedPage[] = []
  beforeAll(async () => {
    browser = await startBrowser()
    clinic = await followHowTo()
  })
  afterAll(async () => {
    await browser.close()
    await clinic.end()
  })
  const visit = async (url: string): Promise<Page> => {
    const watched = await openPage(browser)
    opened.push(watched)
    await watched.page.goto(new URL(url, clinic.baseUrl).href)
    return watched.page
  }

  it('C33, C39: as the how-to says: pages without a token, two versions by the clinician, the device at home', async () => {
    // 6. What is public: the pages are, and they claim nothing that they did not read.
    const overview = await visit('/')
    await expect.poll(() => text(overview, '#now-title'), WAIT).toBe('Right now')
    expect(await text(overview, '#verdict-words')).toBe('Names are private here')
    await visit('/clinician.html')

    // 4 and 5. The link opens the page signed in, under the name of AUTHOR_LABELS; it writes and corrects.
    const clinician = await visit(clinic.clinician)
    await expect.poll(() => text(clinician, '#signed-in'), WAIT).toContain('Signed in as Dr Osei')
    const heron = await visit(`/echo.html#token=${clinic.heron}`)
    await heron.waitForSelector('#state[data-state="live"]', WAIT)
    await fillWrite(clinician, {
      patient: 'heron',
      domain: 'drops',
      value: 'Take ten drops at noon.',
    })
    await clinician.click('#send')
    await clinician.waitForSelector('text=Version 1 is stored', WAIT)
    // What a device has not shown yet is corrected nowhere on it: it would show version 2 as new.
    await expect.poll(() => text(heron, '#records .said'), WAIT).toBe('Take ten drops at noon.')
    await fillWrite(clinician, { value: 'Take twelve drops at noon.' })
    await clinician.click('#send')
    await clinician.waitForSelector('text=Version 2 is stored', WAIT)

    // The device of a home hears both, and its list is the clinic's on paper.
    expect(await text(heron, '#records .as-of')).toMatch(/^Hill Clinic\. As of /)
    await heron.waitForSelector('article[data-kind="correction"]', WAIT)
    expect(await text(heron, '#records .said')).toBe('Take twelve drops at noon.')
    expect(await text(heron, '#records')).toContain('Dr Osei')
    await expect.poll(() => text(overview, '#checkpoint-size'), WAIT).toBe('2')
    expect(await overview.content()).not.toMatch(/heron|drops/)
    expect(opened.flatMap(({ faults }) => faults)).toEqual([])
  })
})
