import { mergeConfig } from 'vitest/config'
import shared from '../../vitest.package.ts'

/** Files share modules: importing viem, zod and the gate takes longer than most of these tests. */
export default mergeConfig(shared, { test: { isolate: false } })
