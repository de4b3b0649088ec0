import { defineConfig, mergeConfig } from 'vitest/config'
import shared from '../../vitest.package.ts'

/** Files at once, whatever the cores: two have a stack of their own, and wait for windows that end. */
const FILES_AT_ONCE = 2

export default mergeConfig(shared, defineConfig({ test: { maxWorkers: FILES_AT_ONCE } }))
