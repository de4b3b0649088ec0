import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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
