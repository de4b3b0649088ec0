import { defineConfig, mergeConfig } from 'vitest/config'
import shared, { filesAtOnce, keepFilesInMemory } from '../../vitest.package.ts'

keepFilesInMemory()

export default mergeConfig(
  shared,
  defineConfig({
    test: {
      globalSetup: './src/testing/postgres-template.setup.ts',
      maxWorkers: filesAtOnce({ inWholeRun: 2 }),
    },
  }),
)
