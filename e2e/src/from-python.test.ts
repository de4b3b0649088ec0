// Every block of docs/how-to/from-python.md, as a person would run it, beside the shared stack.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@tallystick/service-kit'
import { startServiceProcess } from '@tallystick/service-kit/service-process'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { careToken, writeRecord } from './care-writer.ts'
import { cloneBeside, readBlocks, startBlock } from './page-blocks.ts'
import { ended, root } from './spawned-stack.ts'

const stack = inject('stack')
const blocks = readBlocks('docs/how-to/from-python.md')
const shell = blocks.filter(({ language }) => language === 'sh')
const [install] = shell
const inShell = (name: string, holds = ''): string =>
  shell.find((block) => block.name === name && block.code.includes(holds))?.code ?? ''

const RECORD = { patient: 'python-host', domain: 'medication' }
const uri = `care://${RECORD.patient}/${RECORD.domain}`

const folder = mkdtempSync(join(tmpdir(), 'tallystick-python-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Some 60 MB from the index. */
const INSTALL_MS = 240_000

/** Why the blocks cannot run here; undefined if they can. A package index is somebody else's machine. */
function missing(): string | undefined {
  const python = spawnSync('python3', ['-c', 'import sys; print(sys.version_info >= (3, 10))'])
  if (python.stdout?.toString().trim() !== 'True') return 'no Python 3.10 or newer'
  const installed = spawnSync('bash', ['-ec', install?.code ?? 'false'], {
    cwd: folder,
    timeout: INSTALL_MS,
  })
  return installed.status === 0 ? undefined : 'its packages cannot be installed'
}
const reason = missing()

/** A care of its own, which can be killed and started again on what it stored. */
async function startOwnCare() {
  const { writeSecret, tokenSecret } = stack.description.care
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}`
  const main = join(root, 'services/care/src/main.ts')
  const launch = () =>
    startServiceProcess([main], {
      BASE_URL: baseUrl,
      PORT: String(port),
      DATABASE_PATH: join(folder, 'care.db'),
      WRITE_SECRET: writeSecret,
      TOKEN_SECRET: tokenSecret,
    })
  let running = launch()
  await running.url()
  return {
    place: { baseUrl, mcpUrl: `${baseUrl}/mcp`, writeSecret, tokenSecret },
    async goAway() {
      running.kill('SIGKILL')
      await running.ended
      running = launch()
      await running.url()
    },
    async end() {
      running.kill('SIGKILL')
      await running.ended
    },
  }
}

const start = (code: string, environment?: Readonly<Record<string, string>>) =>
  startBlock(code, folder, environment)

async function run(code: string, environment?: Readonly<Record<string, string>>): Promise<string> {
  const { child, output } = start(code, environment)
  expect(await ended(child), output()).toBe(0)
  return output()
}

async function write(value: string): Promise<void> {
  const record = { ...RECORD, value, authorId: 'dr-osei' }
  expect((await writeRecord(stack.description.care, record)).status).toBe(200)
}

describe.skipIf(reason !== undefined)(
  `from Python${reason === undefined ? '' : `: ${reason}`}`,
  () => {
    beforeAll(() => {
      cloneBeside(stack, folder)
      for (const { code, language, name } of blocks)
        if (language === 'python') writeFileSync(join(folder, name), code)
    })

    test('the page’s shell blocks are those that are run here', () => {
      expect(shell.map(({ name }) => name)).toEqual([
        'run',
        'run',
        'run',
        'host',
        'token',
        'stay',
        'chain',
        'run',
      ])
    })

    test('the official x402 client pays for a grade', async () => {
      expect(await run(inShell('run', 'pay.py'))).toMatch(/^200 \{"outcome":"GRADED"/)
    })

    test('and over MCP, with the official MCP client', async () => {
      expect(await run(inShell('run', 'pay_mcp.py'))).toMatch(/^paid: True \{"outcome":"GRADED"/)
    })

    test('the official MCP client signs in by discovery, subscribes, and hears a correction', async () => {
      const { signIn } = stack.description
      if (signIn === undefined) throw new Error('the stack has no sign-in')
      await write('Take one tablet.')
      const browser = join(root, 'e2e/src/other-languages/sign-in-browser.ts')
      const host = start(inShell('host').replace('care://heron/medication', uri), {
        BROWSER: `${process.execPath} ${browser} %s &`,
        PERSON: signIn.name,
        PASSWORD: signIn.password,
        CALLBACK: `http://127.0.0.1:${await freePort()}/callback`,
      })
      try {
        await expect.poll(host.output).toContain('listening')
        await write('Take two tablets.')
        expect(await ended(host.child), host.output()).toBe(0)
      } finally {
        if (host.child.exitCode === null && host.child.pid !== undefined)
          process.kill(-host.child.pid, 'SIGKILL')
      }
      expect(host.output()).toContain('Take two tablets.')
    })

    test('the official MCP client hears what was corrected while the service was away', async () => {
      const care = await startOwnCare()
      const record = { ...RECORD, authorId: 'dr-osei' }
      try {
        await writeRecord(care.place, { ...record, value: 'One sugar.' })
        const code = inShell('stay')
          .replace('http://127.0.0.1:3002', care.place.baseUrl)
          .replace('care://heron/medication', uri)
        const host = start(code, {
          ACCESS_TOKEN: careToken(care.place, { sub: 'python-host', scope: 'care.read.user' }),
        })
        try {
          await expect.poll(host.output).toContain('listening')
          await care.goAway()
          await writeRecord(care.place, { ...record, value: 'No sugar.' })
          await expect.poll(host.output).toContain('No sugar.')
          await writeRecord(care.place, { ...record, value: 'Honey.' })
          await expect.poll(host.output).toContain('Honey.')
        } finally {
          if (host.child.pid !== undefined) process.kill(-host.child.pid, 'SIGKILL')
        }
      } finally {
        await care.end()
      }
    })

    test('a chain is checked with what every Python has', async () => {
      const code = inShell('token') + inShell('chain').replace('care://heron/medication', uri)
      expect(await run(code)).toMatch(/^INTACT: 2 version\(s\), newest [0-9a-f]{64}$/m)
      const altered = code.replace('|\n', "| sed 's/Take two/Take ten/' |\n")
      await expect(run(`! { ${altered.trimEnd()}\n}`)).resolves.toContain('BROKEN at version 2')
    })

    test('an agent pays in HBAR through the command', async () => {
      expect(await run(inShell('run', 'hedera.py'))).toMatch(/granted/)
    })
  },
)
