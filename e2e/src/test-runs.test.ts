import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
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
