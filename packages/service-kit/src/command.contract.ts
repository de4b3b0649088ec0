// What every command of the house does for who asks it for help; its own suite calls this.
import { expect, test } from 'vitest'

type Answer = { readonly code: number; readonly text: string }

/** `run` runs one line of the command and returns all that it printed. */
export function explainsItsVerbs(
  name: string,
  run: (list: readonly string[]) => Promise<Answer>,
): void {
  test(`S11: every verb of ${name} explains itself with an example, of options that it has`, async () => {
    const { text } = await run(['--help'])
    const verbs = [...text.matchAll(new RegExp(`^  ${name} ([a-z-]+)`, 'gm'))].map(
      ([, verb = '']) => verb,
    )
    expect(verbs.length).toBeGreaterThan(3)
    for (const verb of verbs) {
      const { code, text: help } = await run([verb, '--help'])
      expect(code, verb).toBe(0)
      const [usage = '', , , example = ''] = help.split('\n')
      expect(example).toMatch(new RegExp(`^Example: ${name} ${verb}\\b`))
      const slip = await run([verb, '--no-such-option'])
      expect(slip, verb).toMatchObject({ code: 2 })
      expect(slip.text).toMatch(/^(?:There is no --no-such-option\. .*)?$/)
      for (const [option] of example.matchAll(/--[a-z-]+/g))
        expect(usage, verb).toContain(option.replace(/^--json$/, '[--json]'))
    }
    expect((await run(['--version'])).text).toMatch(new RegExp(`^${name} \\d`))
  })
}
