import { defineConfig, mergeConfig } from 'vitest/config'
import shared, { keepFilesInMemory } from '../../vitest.package.ts'

keepFilesInMemory()

/** Files at once, whatever the cores: many of them wait, for browsers, kills and servers, and no suite takes longer. */
const FILES_AT_ONCE = 2

export default mergeConfig(
  shared,
  defineConfig({
    test: {
      globalSetup: './src/testing/postgres-template.setup.ts',
      maxWorkers: FILES_AT_ONCE,
    },
  }),
)
