// The official conformance suites, run against a server whose token they cannot send: a proxy adds it. For the tests of both
// revisions.
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

type Check = { readonly id: string; readonly status: string; readonly errorMessage?: string }

export type ConformanceRun = {
  /** Where the results are written. */
  readonly folder: string
  /** Runs the suite and returns its output and exit code. */
  run(...more: string[]): Promise<{ readonly text: string; readonly code: number | null }>
  /** The checks of a scenario's last run. */
  checksOf(scenario: string): readonly Check[]
  close(): void
}

/** All server scenarios that a suite of 2026 knows, each with its revisions. */
export async function scenariosOf(
  manifest: string,
): Promise<readonly { readonly name: string; readonly revisions: readonly string[] }[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    programOf(manifest),
    'list',
    '--server',
  ])
  const lines = [...stdout.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm)]
  return lines.map(([, name = '', revisions = '']) => ({ name, revisions: revisions.split(',') }))
}

const programOf = (manifest: string): string => join(dirname(manifest), 'dist/index.js')

/** Opens a proxy to a server for one of the suites. */
export async function openConformance(options: {
  /** Of the server, with its path. */
  readonly url: string
  /** The suite's own. */
  readonly manifest: string
  readonly token: () => string
}): Promise<ConformanceRun> {
  const { pathname } = new URL(options.url)
  const command = programOf(options.manifest)
  const folder = mkdtempSync(join(tmpdir(), 'care-conformance-'))
  // The suite has no option for headers: this adds the token and leaves everything else, including Host, unchanged.
  const proxy = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming
    const onward = request(
      new URL(url ?? '/', options.url),
      { method, headers: { ...headers, authorization: `Bearer ${options.token()}` } },
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
    folder,
    run: (...more) =>
      new Promise((resolve, reject) => {
        const given = ['server', '--url', `http://127.0.0.1:${port}${pathname}`, '-o', folder]
        const child = spawn(process.execPath, [command, ...given, ...more], { cwd: folder })
        let text = ''
        for (const stream of [child.stdout, child.stderr])
          stream.on('data', (chunk: Buffer) => {
            text += chunk.toString()
          })
        child.on('error', reject)
        child.on('close', (code) => resolve({ text, code }))
      }),
    checksOf(scenario) {
      // Each run's name ends in its time.
      const runs = readdirSync(folder).filter((name) =>
        new RegExp(`^server-${scenario}-\\d{4}-`).test(name),
      )
      const run = runs.toSorted().at(-1)
      if (run === undefined) throw new Error(`the scenario ${scenario} was not run`)
      return JSON.parse(readFileSync(join(folder, run, 'checks.json'), 'utf8')) as Check[]
    },
    close() {
      proxy.closeAllConnections()
      proxy.close()
      rmSync(folder, { recursive: true })
    },
  }
}
