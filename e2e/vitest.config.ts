import { defineConfig, mergeConfig } from 'vitest/config'
import packageConfig from '../vitest.package.ts'

/** Tests that share one unchanged running stack, one file after another. */
const SHARED = [
  'care',
  'discovery',
  'docs-page',
  'fuzz',
  'hostile-bytes',
  'npm-start',
  'readme',
  'watch-it-run',
].map((name) => `src/${name}.test.ts`)

export default mergeConfig(
  packageConfig,
  defineConfig({
    test: {
      projects: [
        {
          extends: true,
          test: {
            name: 'shared',
            include: SHARED,
            globalSetup: ['src/shared-stack.ts'],
            fileParallelism: false,
          },
        },
        { extends: true, test: { name: 'own', include: ['src/**/*.test.ts'], exclude: SHARED } },
      ],
    },
  }),
)
