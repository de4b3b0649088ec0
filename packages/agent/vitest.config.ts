import { defineConfig, mergeConfig } from 'vitest/config'
import shared from '../../vitest.package.ts'

/** Files at once, whatever the cores: two have their own stack and wait for windows to end. */
const FILES_AT_ONCE = 2

export default mergeConfig(shared, defineConfig({ test: { maxWorkers: FILES_AT_ONCE } }))
