import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { eventually } from './eventually.ts'
import { ended, root, spawnScript } from './spawned-stack.ts'

const module = pathToFileURL(join(root, 'scripts/stack/when-told-to-end.ts')).href

let folder: string
let program: string
/** What the program writes when told to end, and the file that allows it to. */
let output: string
let released: string
let child: ChildProcess

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tallystick-told-'))
  program = join(folder, 'program.mjs')
  output = join(folder, 'told')
  released = join(folder, 'released')
  const source = `import { appendFileSync, existsSync } from 'node:fs'
    import { setTimeout as pause } from 'node:timers/promises'
    import { whenToldToEnd } from '${module}'
    whenToldToEnd(async () => {
      appendFileSync(process.argv[2], 'told ')
      while (!existsSync(process.argv[3])) await pause(5)
      process.exit(7)
    })
    for (;;) { console.log('working'); await pause(5) }`
  writeFileSync(program, source)
})
afterEach(() => child.kill('SIGKILL'))
afterAll(() => rmSync(folder, { recursive: true }))

async function start(): Promise<void> {
  writeFileSync(output, '')
  rmSync(released, { force: true })
  const started = spawnScript(program, [output, released])
  child = started.child
  await eventually(() => started.output().includes('working'))
}

it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s, sent twice, ends it once',
  async (signal) => {
    await start()
    child.kill(signal)
    await eventually(() => readFileSync(output, 'utf8') !== '')
    child.kill(signal)
    writeFileSync(released, '')
    expect(await ended(child)).toBe(7)
    expect(readFileSync(output, 'utf8')).toBe('told ')
  },
)

it('losing the reader of its output ends it like a signal', async () => {
  await start()
  writeFileSync(released, '')
  child.stdout?.destroy()
  expect(await ended(child)).toBe(7)
  expect(readFileSync(output, 'utf8')).toBe('told ')
})
