import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, inject, it } from 'vitest'
import { ended, root } from './spawned-stack.ts'

const stack = inject('stack')
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tallystick-readme-'))
  mkdirSync(join(folder, '.local'))
  writeFileSync(join(folder, '.local', 'stack.json'), JSON.stringify(stack.description))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
})

/** The README's fenced blocks marked `run`, in order. */
function runnableBlocks(language: 'js' | 'sh'): readonly string[] {
  const text = readFileSync(join(root, 'README.md'), 'utf8')
  const fence = new RegExp(`^\`\`\`${language} run\\n(.*?)^\`\`\`$`, 'gms')
  return [...text.matchAll(fence)].map(([, code = '']) => code)
}

async function readOutput(program: string, words: readonly string[]): Promise<string> {
  const child = spawn(program, words, { cwd: folder, stdio: 'pipe' })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  expect(await ended(child), output).toBe(0)
  return output
}

async function run(code: string): Promise<string> {
  writeFileSync(join(folder, 'block.mjs'), code)
  return await readOutput(process.execPath, ['block.mjs'])
}

/** A block with only its ports changed: a test's stack does not use the documented ones. */
async function runInShell(code: string): Promise<string> {
  const { access, care, grading } = stack.description
  const here = code
    .replaceAll('http://127.0.0.1:3001', access.baseUrl)
    .replaceAll('http://127.0.0.1:3002', care.baseUrl)
    .replaceAll('http://127.0.0.1:3003', grading.baseUrl)
  return await readOutput('bash', ['-c', here])
}

it("the README's first request pays once with the official client and gets in, and stays in", async () => {
  const [code = ''] = runnableBlocks('js')
  expect(code).toContain('setSpendControls')
  const first = await run(code)
  expect(first).toMatch(/^200 /)
  expect(first).toContain("access: 'granted'")
  expect(first).toContain('paidThisRequest: true')
  const second = await run(code)
  expect(second).toMatch(/^200 /)
  expect(second).toContain('paidThisRequest: false')
})

it("the README's paid grade is a card with scoreboard and closing line together", async () => {
  const [, code = '', ...others] = runnableBlocks('js')
  expect(others).toEqual([])
  expect(code).toContain('setSpendControls')
  const card = await run(code)
  expect(card).toMatch(/^200 /)
  expect(card).toContain("outcome: 'GRADED'")
  expect(card).toMatch(/scoreboard: \{ status: '(won|lost)'/)
  expect(card).toContain('Synthetic fixture, not a real market.')
})

it("the README's commands give the answers it shows", async () => {
  const [challenge = '', verify = '', calibration = '', ...others] = runnableBlocks('sh')
  expect(others).toEqual([])
  expect(await runInShell(challenge)).toContain('HTTP/1.1 402 Payment Required')
  expect(await runInShell(verify)).toContain('all chains intact')
  expect(await runInShell(calibration)).toContain('"population":"mechanical"')
})
