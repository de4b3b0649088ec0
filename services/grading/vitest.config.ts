import { defineConfig, mergeConfig } from 'vitest/config'
import shared from '../../vitest.package.ts'

export default mergeConfig(
  shared,
  defineConfig({ test: { globalSetup: './src/testing/postgres-run.setup.ts' } }),
)
