import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** Compiling a service's modules is half of its start: the processes that tests start find them compiled. */
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/node')

/**
 * What every package's tests run with. Several suites share two cores, and a stack takes seconds to start there, so the
 * limits are far beyond what a test takes by itself; none of them is an expectation. `scripts/test.ts` adds the reports up.
 * A long run repeats the same rounds up to a hundred times.
 */
export default defineConfig({
  test: {
    // Files share modules: importing viem, zod and the SDKs takes longer than most tests, and no module keeps state.
    isolate: false,
    testTimeout: process.env.TALLYSTICK_LONG === '1' ? 3_600_000 : 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    reporters: ['default', 'json'],
    outputFile: { json: 'reports/tests.json' },
  },
})
