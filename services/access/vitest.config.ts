import { defineConfig, mergeConfig } from 'vitest/config'
import shared, { filesAtOnce } from '../../vitest.package.ts'

export default mergeConfig(
  shared,
  defineConfig({ test: { maxWorkers: filesAtOnce({ inWholeRun: 2 }) } }),
)
