// The official MCP conformance suites as tests of a service: each scenario that applies must pass, and each that cannot must
// fail, for a reason that is written down. A service's own suite calls this, so that what fails names the service.
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

type Check = { readonly id: string; readonly status: string; readonly errorMessage?: string }

type Server = {
  /** With its path. */
  readonly url: string
  /** A bearer token; absent where none is needed. */
  readonly token?: () => string
  close(): Promise<void>
}

type ConformanceOptions = {
  /** The service and the rule. */
  readonly title: string
  /** Path of the suite's package.json. */
  readonly manifest: string
  readonly start: () => Promise<Server>
  /** What the suite is asked to run, one list of words a run; without it, its active scenarios. */
  readonly runs?: readonly (readonly string[])[]
  /** Scenarios of which every check holds. */
  readonly passing: readonly string[]
  /** Scenarios that may not pass, each with its reason and, if they are not named as it is, the checks that do not hold. */
  readonly unmet: Readonly<Record<string, readonly [reason: string, ...checks: string[]]>>
  /** Whether the runs have scenarios that another call judges. */
  readonly hasOthers?: boolean
  /** Checks of passing scenarios that the suite skips itself. */
  readonly skipped?: readonly string[]
  /** A scenario that is run again while it fails, which a busy machine makes late. */
  readonly slow?: string
}

/** What no service passes: the scenarios of 2025-11-25 that call a tool of the suite's own. */
export const OF_ITS_OWN_TOOLS: ConformanceOptions['unmet'] = Object.fromEntries(
  [
    ['tools-call-simple-text'],
    ['tools-call-image'],
    ['tools-call-audio'],
    ['tools-call-embedded-resource'],
    ['tools-call-mixed-content'],
    ['tools-call-with-logging'],
    ['tools-call-error'],
    ['tools-call-with-progress'],
    ['tools-call-sampling'],
    ['tools-call-elicitation'],
    ['elicitation-sep1034-defaults', 'elicitation-sep1034-general'],
    ['elicitation-sep1330-enums', 'elicitation-sep1330-general'],
  ].map(([name = '', ...checks]) => [name, ['calls a tool of the suite’s own', ...checks]]),
)

const findProgramFile = (manifest: string): string => join(dirname(manifest), 'dist/index.js')

/** Scenarios for servers that a suite of 2026 lists, each with its revisions. */
export async function listScenarios(
  manifest: string,
): Promise<readonly { readonly name: string; readonly revisions: readonly string[] }[]> {
  const words = [findProgramFile(manifest), 'list', '--server']
  const { stdout } = await promisify(execFile)(process.execPath, words)
  const lines = [...stdout.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm)]
  return lines.map(([, name = '', revisions = '']) => ({ name, revisions: revisions.split(',') }))
}

/** The suites have no option for headers: this adds the token and leaves everything else, including Host, unchanged. */
async function openProxy(url: string, token: () => string) {
  const proxy = createServer((incoming, outgoing) => {
    const { method, url: target, headers } = incoming
    const onward = request(
      new URL(target ?? '/', url),
      { method, headers: { ...headers, authorization: `Bearer ${token()}` } },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      },
    )
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  await new Promise<void>((resolve) => {
    proxy.listen(0, '127.0.0.1', resolve)
  })
  const address = proxy.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}${new URL(url).pathname}`,
    close() {
      proxy.closeAllConnections()
      proxy.close()
    },
  }
}

/** Runs a suite in a folder, where its results are written. */
const run = (
  manifest: string,
  folder: string,
  words: readonly string[],
): Promise<{ readonly text: string; readonly code: number | null }> =>
  new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [findProgramFile(manifest), 'server', '-o', folder, ...words],
      {
        cwd: folder,
      },
    )
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
    child.on('error', reject)
    child.on('close', (code) => resolve({ text, code }))
  })

/** Each run of a scenario has a folder of its own, whose name ends in its time. */
const RUN_FOLDER = /^server-(.+)-\d{4}-\d\d-/

/** The checks of a scenario's last run. */
function readChecks(folder: string, scenario: string): readonly Check[] {
  const runs = readdirSync(folder).filter((name) => RUN_FOLDER.exec(name)?.[1] === scenario)
  const last = runs.toSorted().at(-1)
  if (last === undefined) throw new Error(`the scenario ${scenario} was not run`)
  return JSON.parse(readFileSync(join(folder, last, 'checks.json'), 'utf8')) as Check[]
}

/** INFO reports an observation, such as an answer in JSON rather than as a stream. */
const HELD = ['SUCCESS', 'INFO']

function listFailures(
  folder: string,
  scenario: string,
  skipped: readonly string[] = [],
): readonly string[] {
  const checks = readChecks(folder, scenario)
  // The suite of 2026 has the check of schemas in every scenario, beside its own.
  const own = checks.filter(({ id }) => id !== 'wire-schema-valid')
  expect(own.some(({ status }) => status === 'SUCCESS')).toBe(true)
  return checks
    .filter(({ id, status }) => !HELD.includes(status) && !skipped.includes(id))
    .map(({ errorMessage = '', id }) => `${id}: ${errorMessage}`)
}

export function testConformance(options: ConformanceOptions): void {
  const { title, manifest, passing, unmet, hasOthers = false, skipped, slow } = options
  const unmetNames = Object.keys(unmet)
  describe.each([title])('%s', () => {
    let server: Server
    let proxy: Awaited<ReturnType<typeof openProxy>> | undefined
    let folder: string
    beforeAll(async () => {
      server = await options.start()
      proxy = server.token && (await openProxy(server.url, server.token))
      folder = mkdtempSync(join(tmpdir(), 'mcp-conformance-'))
    })
    afterAll(async () => {
      proxy?.close()
      await server.close()
      rmSync(folder, { recursive: true })
    })

    test('runs the scenarios, and those that may not pass are the only ones that fail', async () => {
      const url = ['--url', proxy?.url ?? server.url]
      const baseline = join(folder, 'expected-failures.yml')
      writeFileSync(baseline, `server:\n${unmetNames.map((name) => `  - ${name}\n`).join('')}`)
      const { runs = [['--expected-failures', baseline]] } = options
      for (const words of runs) {
        const { code, text } = await run(manifest, folder, [...url, ...words])
        expect(options.runs === undefined ? code : 0, text).toBe(0)
      }
      if (slow !== undefined)
        for (let more = 4; more > 0 && listFailures(folder, slow, skipped).length > 0; more -= 1)
          await run(manifest, folder, [...url, '--scenario', slow])
      const ran = readdirSync(folder).flatMap((name) => RUN_FOLDER.exec(name)?.[1] ?? [])
      const judged = [...passing, ...unmetNames]
      expect(
        [...new Set(ran)].filter((name) => !hasOthers || judged.includes(name)).toSorted(),
      ).toEqual(judged.toSorted())
    })

    test.each(passing)('scenario %s passes every check', (scenario) => {
      expect(listFailures(folder, scenario, skipped)).toEqual([])
    })

    test.each(Object.entries(unmet))('scenario %s cannot pass: %s', (scenario, [, ...expected]) => {
      const checks = readChecks(folder, scenario)
      const failed = checks.filter(({ status }) => !HELD.includes(status))
      expect(failed.map(({ id }) => id)).toEqual(expected.length === 0 ? [scenario] : expected)
    })
  })
}
