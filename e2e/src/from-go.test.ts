// Every block of docs/how-to/from-go.md, as a person would run it, beside the shared stack.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { writeRecord } from './care-writer.ts'
import { cloneBeside, readBlocks, startBlock } from './page-blocks.ts'
import { ended } from './spawned-stack.ts'

const stack = inject('stack')
const blocks = readBlocks('docs/how-to/from-go.md')
const shell = blocks.filter(({ language }) => language === 'sh').map(({ code }) => code)
const [init = '', install = '', audit = '', journal = '', token = '', chain = '', hear = ''] = shell

const folder = mkdtempSync(join(tmpdir(), 'tallystick-go-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Some 10 MB from the module proxy, and their compilation. */
const INSTALL_MS = 240_000

/** Why the blocks cannot run here; undefined if they can. A module proxy is somebody else's machine. */
function missing(): string | undefined {
  if (spawnSync('go', ['version']).status !== 0) return 'no Go'
  cloneBeside(stack, folder)
  const quiet = { cwd: folder, timeout: INSTALL_MS }
  spawnSync('bash', ['-ec', init], quiet)
  for (const { code, language, name } of blocks)
    if (language === 'go') {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), code)
    }
  const installed = spawnSync('bash', ['-ec', `${install}\ngo build -o bin/ ./...`], quiet)
  return installed.status === 0 ? undefined : 'its modules cannot be installed'
}
const reason = missing()

const start = (code: string, environment?: Readonly<Record<string, string>>) =>
  startBlock(code, folder, environment)

describe.skipIf(reason !== undefined)(`from Go${reason === undefined ? '' : `: ${reason}`}`, () => {
  test('Go’s own library finds an entry of the ledger under its signed checkpoint', async () => {
    const newest = await fetch(`${stack.description.grading.baseUrl}/api/ledger`)
    const { entries } = (await newest.json()) as { entries: { seq: number; entry?: object }[] }
    // One that is shown whole: its bytes hash to what the proof is about.
    const whole = entries.find(({ entry }) => entry !== undefined)?.seq ?? -1
    for (const seq of [0, whole]) {
      const { child, output } = start(audit.replace(' 0 ', ` ${seq} `))
      expect(await ended(child), output()).toBe(0)
      expect(output()).toMatch(new RegExp(`^INCLUDED: entry ${seq} of \\d+, signed by `))
    }
  })

  test('Go’s own library proves that care’s journal only grew, and names one that did not', async () => {
    const { care } = stack.description
    const look = async (code = journal) => {
      const { child, output } = start(code)
      return [await ended(child), output()]
    }
    expect(await look()).toEqual([0, expect.stringMatching(/^FIRST LOOK: \d+ entries/)])
    const record = { patient: 'go-auditor', domain: 'diet', authorId: 'dr-osei' }
    await writeRecord(care, { ...record, value: 'No salt.' })
    await writeRecord(care, { ...record, value: 'Little salt.' })
    expect(await look()).toEqual([0, expect.stringMatching(/^GREW: from \d+ to \d+ entries/)])
    // The proof for an earlier state does not hold for this one.
    const other = 'sed -i "s/oldSize=%d/oldSize=1\\&x=%d/" journal/main.go'
    expect(await look(`${other}\n${journal}`)).toEqual([1, expect.stringContaining('NOT GROWN')])
  })

  test('a chain is replayed from its export, and an altered one is named', async () => {
    const code = token + chain.replace('heron/medication', 'go-auditor/diet')
    const intact = start(code)
    expect(await ended(intact.child), intact.output()).toBe(0)
    expect(intact.output()).toMatch(/^INTACT: 2 version\(s\), newest [0-9a-f]{64}$/m)
    const altered = start(code.replace('|\n', "| sed 's/Little/Much/' |\n"))
    expect(await ended(altered.child)).not.toBe(0)
    expect(altered.output()).toContain('BROKEN at version 2')
  })

  test('the official MCP SDK subscribes, and hears a correction', async () => {
    const { care } = stack.description
    const record = { patient: 'go-host', domain: 'medication' }
    const write = (value: string) => writeRecord(care, { ...record, value, authorId: 'dr-osei' })
    await write('Take one tablet.')
    const host = start(token + hear.replace('heron', record.patient))
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
})
