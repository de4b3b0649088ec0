import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import { mutatedText } from './mutant.ts'
import { mutantsOf } from './mutants-of.ts'
import type { SyntaxNode } from './syntax-tree.ts'

type Solc = { readonly compile: (input: string) => string }
const solc = createRequire(import.meta.url)('solc') as Solc

/** The mutants of `body` inside a function, each with its operator, its key and the changed body. */
function mutantsIn(body: string) {
  const [before, behind] = [
    'contract A { event E(uint256 x); error R(); uint256 s; uint256 t; function f(uint256 a, uint256 b) external { ',
    ' } }',
  ]
  const text = `${before}${body}${behind}`
  const input = {
    language: 'Solidity',
    sources: { 'A.sol': { content: text } },
    settings: { outputSelection: { '*': { '': ['ast'] } } },
  }
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as {
    readonly sources: { readonly 'A.sol': { readonly ast: SyntaxNode } }
  }
  const { ast } = output.sources['A.sol']
  return mutantsOf({ path: 'A.sol', text, tree: ast }).map((mutant) => ({
    operator: mutant.operator,
    key: mutant.key,
    body: mutatedText(text, mutant).slice(before.length, -behind.length),
  }))
}

const listBodies = (body: string, operator: string): readonly string[] =>
  mutantsIn(body)
    .filter((mutant) => mutant.operator === operator)
    .map((mutant) => mutant.body)

describe('every mutant of a file', () => {
  test('a comparison has its other bound and its opposite', () => {
    expect(listBodies('if (a < b) s = 1;', 'comparison')).toEqual([
      'if (a <= b) s = 1;',
      'if (a >= b) s = 1;',
    ])
  })

  test('a condition is negated, its operator replaced, and each side dropped', () => {
    expect(listBodies('if (a > 1 && b > 1) s = 1;', 'boolean')).toEqual([
      'if (!(a > 1 && b > 1)) s = 1;',
      'if (a > 1 || b > 1) s = 1;',
      'if (b > 1) s = 1;',
      'if (a > 1) s = 1;',
    ])
  })

  test('a number goes up and down by one, zero only up', () => {
    expect(listBodies('s = 1_000;', 'bound ± 1')).toEqual(['s = 1001;', 's = 999;'])
    expect(listBodies('s = 0;', 'bound ± 1')).toEqual(['s = 1;'])
  })

  test('assignments, events and reverts are removed', () => {
    expect(listBodies('s = a;', 'assignment removed')).toEqual(['{}'])
    expect(listBodies('emit E(a);', 'event removed')).toEqual(['{}'])
    expect(listBodies('if (a == 1) revert R();', 'revert removed')).toEqual(['{}'])
  })

  test('positions are bytes: non-ASCII text before a change does not shift it', () => {
    expect(listBodies('/* ⇄ £ */ s = a + b;', 'arithmetic')).toEqual(['/* ⇄ £ */ s = a - b;'])
  })

  test('equal changes of one function have different keys', () => {
    const keys = mutantsIn('s = a; s = a;').map(({ key }) => key)
    expect(new Set(keys).size).toBe(keys.length)
    expect(keys).toContain('A.f: «s = a; → {}»')
    expect(keys).toContain('A.f: «s = a; → {}» (2)')
  })
})
