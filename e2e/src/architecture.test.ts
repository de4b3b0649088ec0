// ARCHITECTURE.md, "The way of a request": three lists of files, checked against the code.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from './spawned-stack.ts'

/** The most files that a reader passes through. A shorter list lowers its ceiling. */
const FILES_MAX = { 'Metered call': 12, 'Signed write': 13, 'Paid grade': 18 }

const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')

type Step = { readonly path: string; readonly name: string; readonly text: string }

function stepsOf(list: string): readonly Step[] {
  const [, section = ''] = page.split(`### ${list}\n`)
  const lines = section.split(/^##/m, 1)[0]?.matchAll(/^\d+\. \[[^\]]+\]\(([^)]+)\): `(\w+)`$/gm)
  return [...(lines ?? [])].map(([, path = '', name = '']) => ({
    path,
    name,
    text: existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '',
  }))
}

/** A function, a method of an object or class, or a factory's product named by its type or variable. */
function defines({ name, text }: Step): boolean {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}`
  const declared = new RegExp(
    `\\b(?:function\\*?|const) (?:${name}|create${type})\\b|\\btype ${type} = \\(`,
  )
  const method = new RegExp(`^\\s*(?:readonly |async )*${name}(?:<[^(]*>)?(?:: |[,(])`, 'm')
  return declared.test(text) || method.test(text)
}

/** Calls it, or passes it on to be called. */
const calls = ({ text }: Step, name: string): boolean =>
  new RegExp(`\\b${name}(?:<[^(]*>)?\\(|[:(,?] ?${name}[,) ]`).test(text)

describe.each(Object.entries(FILES_MAX))('%s', (list, filesMax) => {
  const steps = stepsOf(list)

  it(`leads through at most ${filesMax} files`, () => {
    expect(steps.length).toBeGreaterThan(5)
    expect(steps.length).toBeLessThanOrEqual(filesMax)
    expect(new Set(steps.map(({ path }) => path)).size).toBe(steps.length)
  })

  it.each(steps)('$path defines $name, and a file before it calls it', (step) => {
    expect(step.text).not.toBe('')
    expect(defines(step), 'defined').toBe(true)
    const at = steps.indexOf(step)
    const isCalled = at === 0 || steps.slice(0, at).some((before) => calls(before, step.name))
    expect(isCalled, 'called').toBe(true)
  })
})
