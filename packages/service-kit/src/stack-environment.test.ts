import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type CommandCall, EXIT, readVariables, runCommand } from './command.ts'
import { manualClock } from './manual-clock.ts'

const folder = mkdtempSync(join(tmpdir(), 'stack-environment-'))
const running = join(folder, 'running.json')
const ended = join(folder, 'ended.json')
/** Above the highest number that Linux gives a process. */
const NO_PID = 2 ** 22 + 1

beforeAll(() => {
  const environments = { shop: { PLACE: 'of the stack', SECRET: 'of the stack', PORT: '1' } }
  for (const [file, pid] of [
    [running, process.pid],
    [ended, NO_PID],
  ] as const)
    writeFileSync(file, JSON.stringify({ process: { pid }, environments, more: 'members' }))
  writeFileSync(join(folder, 'other.json'), '{}')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const Variables = z.object({ PLACE: z.string().optional(), SECRET: z.string().optional() })

async function shop(
  list: readonly string[],
  {
    environment = {},
    stackFile,
    act = ({ terminal }) => readVariables(terminal, Variables),
  }: {
    readonly environment?: Readonly<Record<string, string>>
    readonly stackFile?: string
    readonly act?: (call: CommandCall) => unknown
  } = {},
) {
  const errors: string[] = []
  let read: unknown
  const verb = { name: 'sell', summary: 'sells', example: 'sell' }
  const run = async (call: CommandCall) => {
    read = act(call)
    return EXIT.done
  }
  const code = await runCommand(
    {
      name: 'shop',
      title: 'sells',
      verbs: [{ ...verb, run }],
      notes: [],
      explainRefusal: () => undefined,
      stack: { service: 'shop', variables: ['PLACE', 'SECRET', 'STORE_URL', 'PORT'] },
    },
    {
      arguments: list,
      environment,
      stackFile,
      clock: manualClock(0),
      stdin: (async function* () {
        yield new Uint8Array()
      })(),
      print: () => undefined,
      printError: (line) => errors.push(line),
    },
  )
  return { code, read, errors: errors.join('\n') }
}

describe('S15: a command beside a local stack', () => {
  it('S15: finds the stack that runs, reads its variables and says so', async () => {
    expect(await shop(['sell'], { stackFile: running })).toEqual({
      code: 0,
      read: { PLACE: 'of the stack', SECRET: 'of the stack' },
      errors: `On the stack of ${running}.`,
    })
  })

  it.each(['PLACE', 'SECRET_FILE', 'STORE_URL'])(
    'S15: leaves a found stack aside whole where %s is set, and says why',
    async (name) => {
      const { code, errors, read } = await shop(['sell'], {
        environment: { [name]: 'mine', PORT: '80' },
        stackFile: running,
      })
      expect([code, read]).toEqual([0, name === 'PLACE' ? { PLACE: 'mine' } : {}])
      expect(errors).toMatch(/left aside: \w+ is set; with --stack /)
    },
  )

  it('S15: a variable that is set wins over the stack that is named', async () => {
    const named = ['sell', '--stack', running]
    expect(await shop(named, { environment: { PLACE: 'mine' } })).toEqual({
      code: 0,
      read: { PLACE: 'mine', SECRET: 'of the stack' },
      errors: `On the stack of ${running}.`,
    })
    const { read } = await shop(named, { environment: { SECRET_FILE: '/run/secret' } })
    expect(read).toEqual({ PLACE: 'of the stack' })
  })

  it.each([
    ['does not run any more', ended],
    ['describes none', join(folder, 'other.json')],
    ['describes none', join(folder, 'absent.json')],
  ])('S15: a named stack that %s ends the command with the next one to type', async (why, file) => {
    const { code, errors, read } = await shop(['sell', '--stack', file])
    expect({ code, read }).toEqual({ code: 2, read: undefined })
    expect(errors).toMatch(new RegExp(`^--stack \\S+: .*${why}.*npm start`))
  })

  it('S15: a found file of a stack that was killed is named and left aside', async () => {
    const { code, errors, read } = await shop(['sell'], { stackFile: ended })
    expect([code, read]).toEqual([0, {}])
    expect(errors).toMatch(/left aside: it does not run any more; npm start starts one/)
  })

  it('S15: says nothing of a stack to a verb that reads no variable, nor where there is none', async () => {
    const nothing = await shop(['sell'], { stackFile: running, act: () => undefined })
    expect(nothing.errors).toBe('')
    expect((await shop(['sell'], { stackFile: join(folder, 'absent.json') })).errors).toBe('')
  })
})
