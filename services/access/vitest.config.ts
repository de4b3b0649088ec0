import { defineConfig, mergeConfig } from 'vitest/config'
import shared from '../../vitest.package.ts'

/** Files at once, whatever the cores: most of them wait, for windows that end and a ledger that lags. */
const FILES_AT_ONCE = 2

export default mergeConfig(shared, defineConfig({ test: { maxWorkers: FILES_AT_ONCE } }))
