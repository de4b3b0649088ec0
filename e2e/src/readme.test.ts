import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ended, root, type SpawnedStack, spawnStack } from './spawned-stack.ts'

let stack: SpawnedStack
let folder: string

beforeAll(async () => {
  stack = await spawnStack()
  folder = mkdtempSync(join(tmpdir(), 'tallystick-readme-'))
  mkdirSync(join(folder, '.local'))
  writeFileSync(join(folder, '.local', 'stack.json'), JSON.stringify(stack.description))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
}, 90_000)

afterAll(async () => {
  await stack.interrupt()
}, 60_000)

/** The fenced blocks of a document that are marked to be run. */
function runnableBlocks(document: string): readonly string[] {
  const text = readFileSync(join(root, document), 'utf8')
  return [...text.matchAll(/^```js run\n(.*?)^```$/gms)].map(([, code = '']) => code)
}

async function run(code: string): Promise<string> {
  writeFileSync(join(folder, 'pay.mjs'), code)
  const child = spawn(process.execPath, ['pay.mjs'], { cwd: folder, stdio: 'pipe' })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  expect(await ended(child), output).toBe(0)
  return output
}

it("the README's first request pays once with the official client and gets in, and stays in", async () => {
  const blocks = runnableBlocks('README.md')
  expect(blocks).toHaveLength(1)
  const [code = ''] = blocks
  expect(code).toContain('setSpendControls')
  const first = await run(code)
  expect(first).toMatch(/^200 /)
  expect(first).toContain("access: 'granted'")
  expect(first).toContain('paidThisRequest: true')
  const second = await run(code)
  expect(second).toMatch(/^200 /)
  expect(second).toContain('paidThisRequest: false')
}, 60_000)
