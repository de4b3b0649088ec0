import { defineConfig, mergeConfig } from 'vitest/config'
import packageConfig from '../vitest.package.ts'

/** Tests that share one unchanged running stack, one file after another: together they take less than its start. */
const SHARED = [
  'access-pages',
  'care',
  'discovery',
  'docs-page',
  'found-by-machines',
  'from-go',
  'from-python',
  'fuzz',
  'hostile-bytes',
  'npm-start',
  'sign-in',
  'watch-it-run',
].map((name) => `src/${name}.test.ts`)

/**
 * Clusters, whose services give a database up after seconds, by a real clock: on a machine that has none for them nothing is ever
 * acknowledged. `scripts/test.ts` runs them once all else has ended.
 */
const CLUSTERS = ['src/cluster/{cluster,patroni,rolling-upgrade}.test.ts']

/** Files at once, whatever the cores: most of them wait, for slow networks, windows, installs and processes that start or end. */
const OWN_STACKS = 4

export default mergeConfig(
  packageConfig,
  defineConfig({
    test: {
      projects: [
        {
          extends: true,
          test: {
            name: 'own',
            include: ['src/**/*.test.ts'],
            exclude: [...SHARED, ...CLUSTERS],
            maxWorkers: OWN_STACKS,
            sequence: { groupOrder: 0 },
          },
        },
        {
          extends: true,
          test: {
            name: 'shared',
            include: SHARED,
            globalSetup: ['src/shared-stack.ts'],
            fileParallelism: false,
            sequence: { groupOrder: 1 },
          },
        },
        {
          extends: true,
          test: {
            name: 'clusters',
            include: CLUSTERS,
            fileParallelism: false,
            sequence: { groupOrder: 2 },
          },
        },
      ],
    },
  }),
)
