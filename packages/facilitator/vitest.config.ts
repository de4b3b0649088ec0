import { mergeConfig } from 'vitest/config'
import settings from '../../vitest.package.ts'

/** Files share modules: the ledger's SDK and viem take a second to load, and no module here keeps state between tests. */
export default mergeConfig(settings, { test: { isolate: false } })
