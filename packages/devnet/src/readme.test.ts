// The README's first successes, each run as its reader would: another process, with nothing but the block's text.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { findProgram } from '@tallystick/service-kit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Devnet, startDevnet } from './start-devnet.ts'

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const FOLDER = new URL('..', import.meta.url).pathname
/** The contracts bring it. */
const CONTRACTS_BIN = new URL('../../../contracts/node_modules/.bin', import.meta.url).pathname

const cast = findProgram('cast', [CONTRACTS_BIN, process.env['PATH'] ?? ''].join(delimiter))
const withoutCast = cast === undefined ? ' (skipped: no cast on PATH)' : ''
const hardhatFolder = process.env['HARDHAT_DIR']
const withoutHardhat =
  hardhatFolder === undefined
    ? ' (skipped: HARDHAT_DIR names no folder with hardhat 3 and @nomicfoundation/hardhat-viem)'
    : ''

/** The code below a heading of the README. */
function blocksBelow(heading: string): string[] {
  const [, below = ''] = README.split(`\n### ${heading}\n`)
  const [section = ''] = below.split(/\n##/)
  return [...section.matchAll(/```\w+\n(.*?)```/gs)].map(([, code = '']) => code)
}

type Command = { program: string; words: readonly string[]; folder: string; input?: string }

async function readOutput({ program, words, folder, input = '' }: Command): Promise<string> {
  const child = spawn(program, words, {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true' },
  })
  child.stdin.end(input)
  const [out, errors] = await Promise.all([readText(child.stdout), readText(child.stderr)])
  return `${out}${errors}`
}

describe('L20: a first success in a minute', () => {
  let devnet: Devnet
  beforeAll(async () => {
    devnet = await startDevnet({ sendLatencyMs: { min: 300, max: 300 } })
  })
  afterAll(() => devnet.stop())

  const here = (code: string): string =>
    code
      .replaceAll('http://127.0.0.1:7546', devnet.rpcUrl)
      .replaceAll('127.0.0.1:50211', devnet.consensus.address)

  test.each(['viem', 'ethers', 'Hiero SDK'])('L20: %s', async (heading) => {
    const [code = ''] = blocksBelow(heading)
    const words = ['--input-type=module']
    const input = here(code)
    const output = await readOutput({ program: process.execPath, words, folder: FOLDER, input })
    expect(output).toMatch(/^success$/m)
  })

  test.skipIf(cast === undefined)(`L20: Foundry${withoutCast}`, async () => {
    const [line = ''] = blocksBelow('Foundry')
    const [, ...words] = here(line).replaceAll('\\\n', ' ').trim().split(/\s+/)
    const output = await readOutput({ program: cast ?? '', words, folder: FOLDER })
    expect(output).toMatch(/^status +1 \(success\)$/m)
  })

  test.skipIf(hardhatFolder === undefined)(`L20: Hardhat 3${withoutHardhat}`, async () => {
    const [config = '', script = ''] = blocksBelow('Hardhat 3')
    mkdirSync(hardhatFolder ?? '', { recursive: true })
    const folder = mkdtempSync(join(hardhatFolder ?? '', 'first-'))
    try {
      writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
      writeFileSync(join(folder, 'hardhat.config.ts'), here(config))
      writeFileSync(join(folder, 'send.ts'), script)
      const program = join(hardhatFolder ?? '', 'node_modules/.bin/hardhat')
      const output = await readOutput({
        program,
        words: ['run', '--no-compile', 'send.ts'],
        folder,
      })
      expect(output).toMatch(/^success$/m)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
