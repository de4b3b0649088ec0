import { existsSync, readFileSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import type { Reporter } from 'vitest/node'

/** Compiling a service's modules is half of its start: the processes that tests start find them compiled. */
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/node')

/** Linux keeps files there in memory. */
const MEMORY = '/dev/shm'
/** Many times what a suite's stores and servers take; a container often has 64 MB. */
const MEMORY_MIN_BYTES = 2 * 1024 ** 3

/** Whether files of tests, programs included, have room in memory. */
function hasRoomInMemory(): boolean {
  if (!existsSync(MEMORY)) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  const mount = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .find((line) => line.includes(` ${MEMORY} `))
  return bavail * bsize >= MEMORY_MIN_BYTES && mount?.includes('noexec') === false
}

/**
 * For suites of stores, which make hundreds of databases and wait for the disk at each commit: their temporary files lie in
 * memory where there is room. That proves the same. Fsyncs are asked for and counted all the same, and tests kill processes,
 * not the machine: what a process wrote stays with the system in either place. `TMPDIR` has the last word.
 */
export function keepFilesInMemory(): void {
  if (hasRoomInMemory()) process.env.TMPDIR ??= MEMORY
}

/** Of a service's suite that runs alone: many of its tests wait, for windows, browsers, kills and servers. */
const FILES_AT_ONCE_ALONE = 4

/** How many files of a service's suite run at once, whatever the cores: fewer beside the other suites of a whole run. */
export function filesAtOnce({ inWholeRun }: { readonly inWholeRun: number }): number {
  return process.env.TALLYSTICK_WHOLE_RUN === '1' ? inWholeRun : FILES_AT_ONCE_ALONE
}

/** A run of care's or grading's suite whose services keep their stores on PostgreSQL. */
const isOnPostgres = process.env.TEST_ENGINE === 'postgres'

/**
 * What such a run leaves out, since it is the same on both engines and ran in the other run: files that name their engine,
 * which take it in either run; the domain, which sees values of a store whose contract is tested on both, but for what it leaves
 * to a query (which closes, prices and picks count, and which events have a name); walks through a whole how-to; pages, which
 * see only answers that the routes' tests judge; readers that leave their sockets full; protocols, as their own suites judge
 * them; what is refused or read before a store is asked; and files that open no store, or one of their own.
 */
const SAME_ON_EVERY_ENGINE = [
  '**/sqlite-*.test.ts',
  '**/postgres-*.test.ts',
  '**/domain/!(committed-picks|find-events|grade-pick|hidden-prices|large-events|ledger-export|prices-taken|truth-rows|truth-table).test.ts',
  '**/grade-pick-ungraded.test.ts',
  '**/how-to-*.test.ts',
  '**/*.browser.test.ts',
  '**/browser/**',
  '**/slow-reader.test.ts',
  // Protocols
  '**/*conformance.test.ts',
  '**/modern-client.test.ts',
  // Before a store
  '**/write-refusals.test.ts',
  '**/hostile-bodies.test.ts',
  '**/bad-*.test.ts',
  '**/read-sale.test.ts',
  '**/tracker/!(real-matches|which-match).test.ts',
  '**/us-tables.test.ts',
  // No store, or their own
  '**/wire/**',
  '**/documents/!(verify-document).test.ts',
  '**/config.test.ts',
  '**/main.test.ts',
  '**/run-{care,grading}.test.ts',
  '**/full-disk.test.ts',
  '**/{espeak-speech,trusted-issuers,issuer-keys,alert-webhook,frame-ring,odds-api-feed}.test.ts',
]

/** Ends a hang. */
const LIMIT_MS = 600_000

/** An error as the worker that it failed in sends it. */
type SentError = {
  message: string
  stack?: string
  readonly cause?: unknown
  readonly code?: unknown
}

/** What an error says, and what lies behind it: "fetch failed: connect ECONNREFUSED 127.0.0.1:4020". */
function saidBy({ message, cause, code }: SentError): string {
  const said = message || String(code)
  return isSentError(cause) ? `${said}: ${saidBy(cause)}` : said
}

const isSentError = (cause: unknown): cause is SentError =>
  typeof cause === 'object' && cause !== null && 'message' in cause

/** The JSON report leaves causes out, and of `fetch failed` nothing else tells. */
const causesInMessages: Reporter = {
  onTestCaseResult(test) {
    for (const error of test.result().errors ?? []) {
      const { message, stack } = error
      error.message = saidBy(error)
      if (stack !== undefined) error.stack = stack.replace(message, () => error.message)
    }
  },
}

/**
 * What every package's tests run with. Several suites share two cores, a stack takes seconds to start there, and a test machine
 * may be many times slower: the limits end a hang, and none of them is an expectation. A test has no limit of its own.
 * `scripts/test.ts` adds the reports up. A long run repeats the same rounds up to a hundred times.
 */
export default defineConfig({
  test: {
    // Files share modules: importing viem, zod and the SDKs takes longer than most tests, and no module keeps state.
    isolate: false,
    exclude: [...configDefaults.exclude, ...(isOnPostgres ? SAME_ON_EVERY_ENGINE : [])],
    testTimeout: process.env.TALLYSTICK_LONG === '1' ? 3_600_000 : LIMIT_MS,
    hookTimeout: LIMIT_MS,
    expect: { poll: { timeout: LIMIT_MS / 2 } },
    reporters: [causesInMessages, 'default', 'json'],
    outputFile: { json: isOnPostgres ? 'reports/postgres.json' : 'reports/tests.json' },
  },
})
