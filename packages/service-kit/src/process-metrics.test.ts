import { closeSync, openSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Registry } from './metrics.ts'
import { measureProcess } from './process-metrics.ts'

const registry = new Registry()
measureProcess(registry)
const read = async (name: string): Promise<number> =>
  Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await registry.metrics())?.[1])

test('S4: a process tells what it uses, as it is at the scrape', async () => {
  const { rss } = process.memoryUsage()
  expect((await read('process_resident_memory_bytes')) / rss).toBeCloseTo(1, 0)
  expect(await read('process_cpu_seconds_total')).toBeGreaterThan(0)
  expect(await read(`nodejs_version_info{version="${process.version}"}`)).toBe(1)
})

test.skipIf(process.platform !== 'linux')(
  'S4: open files are counted (skipped but on Linux, which alone tells them)',
  async () => {
    const before = await read('process_open_fds')
    const files = Array.from({ length: 100 }, () => openSync(process.execPath, 'r'))
    const opened = (await read('process_open_fds')) - before
    for (const file of files) closeSync(file)
    expect(opened).toBeGreaterThan(50)
    expect(await read('process_max_fds')).toBeGreaterThan(before)
  },
)
