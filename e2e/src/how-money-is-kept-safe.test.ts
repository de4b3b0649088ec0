import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from './spawned-stack.ts'

const page = readFileSync(join(root, 'docs/how-money-is-kept-safe.md'), 'utf8')
/** A point's claim, and the tests named under it. */
const points = page
  .split(/^- /m)
  .slice(1)
  .map((text) => ({
    claim: text.split('\n', 1)[0] ?? '',
    tests: [
      ...text.matchAll(
        /\[([^\]]+)\]\(\.\.\/([^)]+\.(?:test\.ts|suite\.ts|contract\.ts|t\.sol))\)/g,
      ),
    ].map(([, title = '', file = '']) => ({ title, file })),
  }))

/** Whether a file has a test with that title: a Solidity function, or a quoted text. */
function isTestFor(file: string, title: string): boolean {
  if (!existsSync(join(root, file))) return false
  const source = readFileSync(join(root, file), 'utf8')
  if (file.endsWith('.t.sol')) return source.includes(`function ${title}(`)
  return ["'", '"', '`'].some((quote) => source.includes(`${quote}${title}${quote}`))
}

describe('docs/how-money-is-kept-safe.md claims only what a test shows', () => {
  it('has points', () => {
    expect(points.length).toBeGreaterThan(20)
  })

  it.each(points)('$claim', ({ tests }) => {
    expect(tests).not.toEqual([])
    expect(tests.filter(({ file, title }) => !isTestFor(file, title))).toEqual([])
  })
})
