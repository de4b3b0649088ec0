import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

const folder = new URL('..', import.meta.url)
const root = new URL('../..', folder)
const readme = readFileSync(new URL('README.md', folder), 'utf8')

/** Each `sh` block, which begins at the root, with the expected output block that follows it. */
const examples = [...readme.matchAll(/```sh\n([^]*?)```\s+```\n([^]*?)```/g)].map(
  ([, script = '', output = '']) => ({ script, output }),
)

const hasTool = (tool: string): boolean => {
  try {
    execFileSync('sh', ['-c', `command -v ${tool}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Each `js run` block, the same. */
const programs = [...readme.matchAll(/```js run\n([^]*?)```\s+```\n([^]*?)```/g)].map(
  ([, program = '', output = '']) => ({ program, output }),
)

describe('the README: what a reader can check without our code', () => {
  test('has three examples for a shell and two for Node', () => {
    expect(examples).toHaveLength(3)
    expect(programs).toHaveLength(2)
  })

  test.for(programs)(
    'anyone verifies a C2SP log with this package alone: $program',
    ({ program, output }) => {
      const node = ['--input-type=module', '--eval', program]
      expect(execFileSync(process.execPath, node, { cwd: folder, encoding: 'utf8' })).toBe(output)
    },
  )

  test.for(examples)('$script', ({ script, output }, { skip }) => {
    for (const tool of ['sha256sum', 'jq', 'seq'])
      if (script.includes(`${tool} `) && !hasTool(tool)) skip(`${tool} is not installed`)
    expect(execFileSync('sh', ['-c', script], { cwd: root, encoding: 'utf8' })).toBe(output)
  })

  test('the loop over all versions names an altered one', ({ skip }) => {
    if (!hasTool('jq')) skip('jq is not installed')
    const loop = examples[1]?.script ?? ''
    const altered = loop.replaceAll('.preimage"', '.value"')
    expect(altered).not.toBe(loop)
    expect(execFileSync('sh', ['-c', altered], { cwd: root, encoding: 'utf8' })).toContain(
      'version 1 does not hold',
    )
  })
})
