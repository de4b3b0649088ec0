// What `npm run check:debt` counts, on small made-up inputs.
import { describe, expect, it } from 'vitest'
import { findArrowsUp, findCircles } from '../../scripts/debt/arrows.ts'
import { readEntries, unusedExports } from '../../scripts/debt/imports.ts'
import { wornNames } from '../../scripts/debt/names.ts'
import { repeatedCode, repeatedDefaults } from '../../scripts/debt/repeats.ts'
import { linesByRoom } from '../../scripts/debt/source-files.ts'

const file = (path: string, ...lines: readonly string[]) => ({
  path,
  text: lines.map((line) => `${line}\n`).join(''),
})
const importing = (path: string, ...targets: readonly string[]) =>
  file(path, ...targets.map((target) => `import type { A } from '${target}'`))
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

describe('arrows', () => {
  const entries = readEntries([], [])

  it('that come back to their file make a circle, also by types and over several files', () => {
    const first = importing('packages/sums/src/a.ts', './b.ts')
    const second = importing('packages/sums/src/b.ts', './c.ts')
    const third = importing('packages/sums/src/c.ts', './a.ts', './d.ts')
    const fourth = importing('packages/sums/src/d.ts')
    expect(findCircles([first, second, third, fourth], entries)).toEqual([
      'packages/sums/src/a.ts, packages/sums/src/b.ts, packages/sums/src/c.ts',
    ])
    expect(findCircles([first, second, fourth], entries)).toEqual([])
  })

  it('between two rooms go up where fewer of them do; those of tests do not count', () => {
    const down = importing('packages/sums/src/routes/a.ts', '../domain/c.ts')
    const again = importing('packages/sums/src/routes/b.ts', '../domain/c.ts')
    const up = importing('packages/sums/src/domain/c.ts', '../routes/b.ts')
    const test = importing('packages/sums/src/domain/c.test.ts', '../routes/a.ts')
    expect(findArrowsUp([down, again, up, test], entries)).toEqual([
      'packages/sums/src/domain/c.ts imports packages/sums/src/routes/b.ts',
    ])
    expect(findArrowsUp([down, again], entries)).toEqual([])
  })
})

describe('values that stand twice', () => {
  it('have one name and one value in two files of a workspace', () => {
    const first = file('packages/sums/src/a.ts', 'const LIMIT_MS = 5_000', "const NAME = 'a'")
    const second = file(
      'packages/sums/src/b.ts',
      'export const LIMIT_MS = 5_000',
      "const NAME = 'b'",
    )
    const other = file('packages/till/src/a.ts', 'const LIMIT_MS = 5_000')
    expect(repeatedDefaults([first, second, other])).toEqual([
      'packages/sums: LIMIT_MS = 5_000 in packages/sums/src/a.ts, packages/sums/src/b.ts',
    ])
  })
})

describe('files', () => {
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

it('names that say nothing are …Of and participles; a standard’s word, and a word within a longer one, are none', () => {
  const written = file(
    'packages/sums/src/sum.ts',
    'export async function sumOf(): Promise<void> {}',
    '  const kept = 1',
    'const keptSum = 1',
    'const balanceOf = 1',
    'let often = 1',
  )
  expect(wornNames([written])).toEqual([
    'packages/sums/src/sum.ts: sumOf',
    'packages/sums/src/sum.ts: kept',
  ])
})
