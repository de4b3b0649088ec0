/** The output of a real process into a pipe, since only the kernel's pipe is full when nobody reads. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { freePort } from './free-port.ts'
import { openLogOutput } from './logging.ts'

const FIXTURE = new URL('./example-service.fixture.ts', import.meta.url).pathname

let folder: string
const endings: (() => Promise<unknown>)[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tallystick-pipe-'))
})
afterEach(async () => {
  for (const end of endings.splice(0)) await end()
  rmSync(folder, { recursive: true })
})

/** A pipe: the end to write to, and its text once somebody reads. */
function openPipe(name: string) {
  const path = join(folder, name)
  spawnSync('mkfifo', [path])
  const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writing = openSync(path, 'w')
  const reader = new Socket({ fd: reading })
  endings.push(async () => reader.destroy())
  let text = ''
  return {
    writing,
    text: () => text,
    read: () => void reader.on('data', (bytes) => (text += String(bytes))),
  }
}

async function start() {
  const pipes = [openPipe('stdout'), openPipe('stderr')] as const
  const port = await freePort()
  const child = spawn(process.execPath, [FIXTURE], {
    env: {
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      PORT: String(port),
      SIGNING_SECRET: 'hunter2hunter2',
    },
    stdio: ['ignore', pipes[0].writing, pipes[1].writing],
  })
  for (const { writing } of pipes) closeSync(writing)
  const exit = once(child, 'close').then(([code]) => Number(code))
  endings.push(async () => {
    child.kill('SIGKILL')
    await exit
  })
  const url = `http://127.0.0.1:${port}`
  const ask = (path: string) =>
    fetch(`${url}${path}`, { signal: AbortSignal.timeout(60_000) }).then(
      (answer) => answer.text(),
      (error: unknown) => `failed: ${String(error)}`,
    )
  await expect.poll(() => ask('/health')).toBe('{"status":"ok"}')
  return { child, exit, ask, stdout: pipes[0], stderr: pipes[1] }
}

const dropped = (metrics: string): number =>
  Number(/^log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1])

describe('S13: a log that nobody reads never stops a service', () => {
  test('lines are dropped and counted, and a reader who comes back is told how many', async () => {
    const { ask, stdout } = await start()
    for (let count = 0; count < 30; count += 1) expect(await ask('/many-lines')).toBe('{}')
    const count = dropped(await ask('/metrics'))
    expect(count).toBeGreaterThan(1_000)
    stdout.read()
    await expect.poll(stdout.text).toContain('"msg":"nobody read the log, and lines were dropped"')
    const lines = stdout.text().trim().split('\n')
    const notice = JSON.parse(lines.at(-1) ?? '')
    expect(notice.lines).toBeGreaterThanOrEqual(count)
    expect(notice.lines + lines.length).toBeGreaterThan(3_000)
    await ask('/many-lines')
    await expect.poll(() => stdout.text().trim().split('\n').length).toBe(lines.length + 101)
  })

  test('nor does a full standard error, not even for the runtime’s own warnings; nor does either stop its end', async () => {
    const { ask, child, exit } = await start()
    for (let count = 0; count < 20; count += 1) {
      expect(await ask('/many-lines')).toBe('{}')
      expect(await ask('/many-errors')).toBe('{}')
    }
    child.kill('SIGTERM')
    expect(await exit).toBe(0)
  })

  test('what a crash says is in the log, also while its reader is behind', async () => {
    const { ask, exit, stdout } = await start()
    for (let count = 0; count < 5; count += 1) await ask('/many-lines')
    stdout.read()
    await ask('/throw')
    expect(await exit).toBe(1)
    await expect.poll(stdout.text).toMatch(/the last words.*"msg":"stopped"\}\n$/s)
  })

  test('a line of more than all that may wait is written, and mutes nothing behind it', async () => {
    let written = ''
    const stream = new Writable({
      write: (chunk, _encoding, done) => {
        written += String(chunk)
        setImmediate(done)
      },
    })
    const output = openLogOutput(stream, () => undefined)
    output.write('short\n')
    output.write(`${'x'.repeat(1_048_577)}\n`)
    await expect.poll(() => stream.writableLength).toBe(0)
    output.write('behind it\n')
    await expect.poll(() => written.slice(-12)).toBe('x\nbehind it\n')
    expect(output.droppedCount()).toBe(0)
  })

  test('a reader who has gone is nobody who reads', async () => {
    const closed = new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')) })
    const output = openLogOutput(closed, () => undefined)
    output.write('a line\n')
    await expect.poll(() => output.droppedCount()).toBe(1)
  })
})
