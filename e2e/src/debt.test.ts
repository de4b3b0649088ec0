// What `npm run check:debt` counts, on small made-up inputs.
import { describe, expect, it } from 'vitest'
import { readEntries, smallFiles, unusedExports } from '../../scripts/debt/imports.ts'
import { repeatedCode } from '../../scripts/debt/repeats.ts'
import { linesByRoom } from '../../scripts/debt/source-files.ts'

const file = (path: string, ...lines: readonly string[]) => ({
  path,
  text: lines.map((line) => `${line}\n`).join(''),
})
const numbered = (count: number, from = 0): readonly string[] =>
  Array.from({ length: count }, (_, index) => `step(${index + from})`)

const manifest = {
  path: 'packages/sums/package.json',
  text: JSON.stringify({ name: '@us/sums', exports: { '.': './src/index.ts' } }),
}
const index = file('packages/sums/src/index.ts', "export { add, type Sum } from './add.ts'")
const add = file(
  'packages/sums/src/add.ts',
  'export function add(): void {}',
  'export type Sum = number',
  'export const unseen = 1',
)

function unused(...others: readonly { path: string; text: string }[]): readonly string[] {
  const files = [index, add, ...others.filter(({ path }) => path.endsWith('.ts'))]
  const documents = others.filter(({ path }) => path.endsWith('.md'))
  return unusedExports(files, { entries: readEntries([manifest], files), documents })
}

describe('exports without a user', () => {
  it('are those that no other file names', () => {
    expect(unused()).toEqual([
      'packages/sums/src/index.ts: add',
      'packages/sums/src/index.ts: Sum',
      'packages/sums/src/add.ts: unseen',
    ])
  })

  it('have one if another workspace imports them from the package', () => {
    const user = file('services/till/src/till.ts', "import { add, type Sum } from '@us/sums'")
    expect(unused(user)).toEqual(['packages/sums/src/add.ts: unseen'])
  })

  it('have one if a document shows them in code, not in words', () => {
    const shown = file('packages/sums/README.md', '```ts', "import { add } from '@us/sums'", '```')
    const readme = file('README.md', "import { Sum } from '@us/sums'")
    expect(unused(shown, readme)).toEqual([
      'packages/sums/src/index.ts: Sum',
      'packages/sums/src/add.ts: unseen',
    ])
  })

  it('have one if a whole module is imported, even over several lines', () => {
    const whole = file('scripts/run.ts', "import * as sums from '../packages/sums/src/add.ts'")
    expect(unused(whole)).not.toContain('packages/sums/src/add.ts: unseen')
    const lines = file('packages/sums/src/use.ts', 'import {', '  unseen,', "} from './add.ts'")
    expect(unused(lines)).not.toContain('packages/sums/src/add.ts: unseen')
  })
})

describe('files', () => {
  const short = file('packages/sums/src/short.ts', 'export const a = 1')
  const user = file('packages/sums/src/user.ts', "import { a } from './short.ts'", ...numbered(40))

  it('under 15 lines are small; test files are not counted', () => {
    const fixture = file('packages/sums/src/a.fixture.ts', 'export const b = 1')
    expect(smallFiles([short, user, fixture])).toEqual(['packages/sums/src/short.ts (1)'])
  })

  it('are counted by room, tests apart', () => {
    const test = file('packages/sums/src/add.test.ts', ...numbered(5))
    expect(linesByRoom([add, test, file('e2e/src/a.ts', 'a'), file('README.md', 'text')])).toEqual([
      { room: 'e2e', production: 0, test: 1 },
      { room: 'packages/sums', production: 3, test: 5 },
    ])
  })
})

describe('repeated code', () => {
  it('is a run of more than ten lines in two places, reported once at its length', () => {
    const first = file('a.ts', 'const a = 1', ...numbered(12))
    const other = file('b.ts', ...numbered(12).map((line) => `  ${line}`), 'const b = 1')
    expect(repeatedCode([first, other])).toEqual(['a.ts:2 and b.ts:1, 12 lines'])
  })

  it('is not a run of ten, and not imports, comments or blank lines', () => {
    const idle = [
      "import { a } from './a.ts'",
      '// said',
      '',
      'export {',
      '  b,',
      "} from './b.ts'",
    ]
    const first = file('a.ts', ...idle, ...numbered(10), 'const a = 1')
    const other = file('b.ts', ...idle, ...numbered(10), 'const b = 1')
    expect(repeatedCode([first, other])).toEqual([])
  })

  it('may occur twice in one file', () => {
    const twice = file('a.ts', ...numbered(11), 'between()', ...numbered(11))
    expect(repeatedCode([twice])).toEqual(['a.ts:1 and a.ts:13, 11 lines'])
  })
})
