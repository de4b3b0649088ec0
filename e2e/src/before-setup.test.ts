import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { root } from './spawned-stack.ts'

const folder = mkdtempSync(join(tmpdir(), 'before-setup-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** What is said before anything is installed into an empty clone, by that Node and with that HOME. */
function beforeSetup({ node = process.versions.node, home = folder }) {
  const script = join(root, 'scripts/before-setup.cjs')
  const code = `Object.defineProperty(process.versions, 'node', { value: '${node}' }); require('${script}')`
  const { status, stderr } = spawnSync(process.execPath, ['--eval', code], {
    cwd: folder,
    env: { HOME: home },
    encoding: 'utf8',
  })
  return [status, stderr]
}

it('a Node that is too old is named in one sentence, with what to do next', () => {
  for (const node of ['16.20.2', '20.18.3'])
    expect(beforeSetup({ node })).toEqual([
      1,
      `Tallystick is installed with Node 20.19 or later, and this is ${node}: install a newer one from https://nodejs.org, then run npm start again.\n`,
    ])
  for (const node of ['20.19.0', '22.1.0']) expect(beforeSetup({ node })).toEqual([0, ''])
})

it('a HOME that cannot be written to is named in one sentence, with the next command', () => {
  expect(beforeSetup({ home: '/dev/null/home' })).toEqual([
    1,
    'npm keeps what it fetches in HOME, and /dev/null/home cannot be written to: name another folder, such as HOME=$PWD/.local/home npm start\n',
  ])
})
