import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { root } from './spawned-stack.ts'

const DryRun = z.object({
  tasks: z.array(z.object({ taskId: z.string(), task: z.string(), hash: z.string() })),
})

/** The tests that turbo would run, each by a hash of all its inputs, for a long or a bounded run. */
function testTasks(isLong: boolean): ReadonlyMap<string, string> {
  const turbo = join(root, 'node_modules', '.bin', 'turbo')
  const { TALLYSTICK_LONG: _, ...environment } = process.env
  const output = execFileSync(turbo, ['run', 'test', '--dry=json'], {
    cwd: root,
    encoding: 'utf8',
    env: { ...environment, ...(isLong ? { TALLYSTICK_LONG: '1' } : {}) },
    maxBuffer: 64 * 1024 * 1024,
  })
  const { tasks } = DryRun.parse(JSON.parse(output))
  return new Map(
    tasks.filter(({ task }) => task === 'test').map(({ taskId, hash }) => [taskId, hash]),
  )
}

it('a long run differs from a bounded one in every workspace: nothing comes from the cache', () => {
  const bounded = testTasks(false)
  const long = testTasks(true)
  expect(long.size).toBeGreaterThan(10)
  expect([...long].filter(([task, hash]) => hash === bounded.get(task))).toEqual([])
})

const Report = z.object({
  testResults: z.tuple([
    z.object({ assertionResults: z.tuple([z.object({ failureMessages: z.array(z.string()) })]) }),
  ]),
})

it('the report says on the first line of a failure what caused it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'failing-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const failing = `it('fails', async () => { await fetch('http://127.0.0.1:1') })`
  writeFileSync(join(folder, 'failing.test.ts'), failing)
  const line = ['run', '--globals', '--root', folder, '--config', join(root, 'vitest.package.ts')]
  const vitest = join(root, 'node_modules', '.bin', 'vitest')
  expect(spawnSync(vitest, line, { encoding: 'utf8' }).status).toBe(1)
  const report: unknown = JSON.parse(readFileSync(join(folder, 'reports/tests.json'), 'utf8'))
  const [{ assertionResults }] = Report.parse(report).testResults
  const [message] = assertionResults[0].failureMessages
  expect(message?.split('\n')[0]).toBe('TypeError: fetch failed: bad port')
})

/** A run of scripts/test.ts over one service, whose two suites write these reports in turbo's stead. */
function runWith(reports: Readonly<Record<'test' | 'test:postgres', object | undefined>>) {
  const folder = mkdtempSync(join(tmpdir(), 'test-run-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const service = join(folder, 'services', 'care')
  mkdirSync(join(service, 'reports'), { recursive: true })
  const scripts = { test: 'vitest run', 'test:postgres': 'vitest run' }
  writeFileSync(join(service, 'package.json'), JSON.stringify({ scripts }))
  const places = { test: 'tests.json', 'test:postgres': 'postgres.json' }
  const turbo = `#!${process.execPath}
    const [, , , task] = process.argv
    const report = (${JSON.stringify(reports)})[task]
    const file = '${service}/reports/' + (${JSON.stringify(places)})[task]
    if (report !== undefined) require('node:fs').writeFileSync(file, JSON.stringify(report))`
  writeFileSync(join(folder, 'turbo'), turbo)
  chmodSync(join(folder, 'turbo'), 0o755)
  const script = join(root, 'scripts', 'test.ts')
  const run = spawnSync(process.execPath, [script, '--postgres'], {
    cwd: folder,
    encoding: 'utf8',
    // Tells that a server is there; nothing asks it.
    env: { ...process.env, PATH: folder, DATABASE_URL: 'postgres://127.0.0.1:1/none' },
  })
  return { status: run.status, last: run.stdout.trimEnd().split('\n').at(-1) }
}

const counts = (passed: number, failed: number, skipped: number) => ({
  success: failed === 0,
  numPassedTests: passed,
  numFailedTests: failed,
  numPendingTests: skipped,
})

it('the last line counts both runs, and a red one on PostgreSQL fails the script', () => {
  const green = counts(5, 0, 1)
  expect(runWith({ test: green, 'test:postgres': counts(3, 0, 2) })).toEqual({
    status: 0,
    last: '8 passed, 0 failed, 3 skipped',
  })
  expect(runWith({ test: green, 'test:postgres': counts(2, 1, 2) })).toEqual({
    status: 1,
    last: '7 passed, 1 failed, 3 skipped',
  })
  expect(runWith({ test: green, 'test:postgres': undefined })).toEqual({
    status: 1,
    last: '5 passed, 1 failed, 1 skipped',
  })
})
