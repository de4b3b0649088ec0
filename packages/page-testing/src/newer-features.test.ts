import { describe, expect, it } from 'vitest'
import { newerInScripts, newerInStyle } from './newer-features.ts'

describe('what Safari 15.4, Chrome 103 or Firefox 102 lack', () => {
  it.each([
    ['"a".isWellFormed()', '.isWellFormed'],
    ['[].toSorted()', '.toSorted'],
    ['AbortSignal.any([])', 'AbortSignal.any'],
    ['AbortSignal.timeout(1)', 'AbortSignal.timeout'],
    ['Array.fromAsync([])', 'Array.fromAsync'],
    ['Object.groupBy([], String)', 'Object.groupBy'],
    ['Promise.withResolvers()', 'Promise.withResolvers'],
    ['Response.json({})', 'Response.json'],
    ['new Set().union(new Set())', '.union'],
    ['URL.canParse("a")', 'URL.canParse'],
    ['new TextDecoderStream()', 'TextDecoderStream'],
    ['form.requestSubmit()', '.requestSubmit'],
    ['note.showPopover()', '.showPopover'],
    ['const { isWellFormed } = ""; const a = /(?<=b)c/', '(?<= )'],
    ['class A { static { } }', 'static { }'],
    ['const a = /[a--b]/v', expect.stringMatching('^syntax: Invalid regular expression flag')],
  ])('%s', (script, use) => {
    expect(newerInScripts({ a: script })).toEqual({ a: [use] })
  })

  it.each([
    'structuredClone(1)',
    'Object.hasOwn({}, "a") && [1].at(-1) && "a".replaceAll("a", "b")',
    'const { at } = []; answer.json().then((body) => body.any)',
    'class A { #a = 1; has = (b) => #a in b }',
    'const toSorted = 1; export { toSorted }',
    'const job = { toSorted() {} }; job.toSorted()',
  ])('not: %s', (script) => {
    expect(newerInScripts({ a: script }, ['any'])).toEqual({})
  })

  it('of a style sheet: properties, selectors and functions, but none in comments', () => {
    const style =
      '/* :open */ a { text-wrap: balance; color: color-mix(in srgb, red, blue) } p:has(b) { }'
    expect(newerInStyle(style)).toEqual([':has', 'color-mix()', 'text-wrap'])
    expect(newerInStyle('a:is(b, c):hover { color: rgb(0 0 0); inset-inline: 0 }')).toEqual([])
  })
})
