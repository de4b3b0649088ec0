import { readFileSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import * as odds from './index.ts'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const code = [...readme.matchAll(/```ts\n([^]*?)```/g)].map(([, block = '']) => block).join('\n')

/** Each call with the literal in the comment at the end of its line or after it; words after two spaces are an explanation. */
const examples = [...code.matchAll(/^(?! |\/\/)(\w+\([^]*?\))\s*\/\/ (.*)$/gm)].map(
  ([, call = '', result = '']) => ({ call, result: result.replace(/(?<=\S) {2}.*$/, '') }),
)

/** Numbers to ten decimal places, as the page shows them. */
const rounded = (value: unknown): unknown => {
  if (typeof value === 'number') return Math.round(value * 1e10) / 1e10 + 0
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(rounded)
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, rounded(part)]))
}
const evaluate = (expression: string): unknown =>
  rounded(runInNewContext(`(${expression})`, { ...odds, NaN: Number.NaN }))

describe('the README', () => {
  test.for(examples)('$call', ({ call, result }) => {
    expect(evaluate(call)).toEqual(evaluate(result))
  })

  test('has an example of every exported function', () => {
    const functions = Object.entries(odds).filter(([, value]) => typeof value === 'function')
    for (const [name] of functions)
      expect(
        examples.some(({ call }) => call.includes(`${name}(`)),
        name,
      ).toBe(true)
    expect(examples.length).toBeGreaterThanOrEqual(functions.length)
  })
})
