import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  BadUsage,
  type CommandCall,
  type CommandVerb,
  EXIT,
  type ExitCode,
  inputLines,
  lifetimeOption,
  readVariables,
  runCommand,
} from './command.ts'
import { secretField } from './config-field.ts'
import { manualClock } from './manual-clock.ts'

class StoreDown extends Error {}

const explainRefusal = (error: unknown): string | undefined =>
  error instanceof StoreDown ? 'the store' : undefined

async function run(
  list: readonly string[],
  act: (call: CommandCall) => void = () => undefined,
  environment: Readonly<Record<string, string>> = {},
) {
  const printed: string[] = []
  const errors: string[] = []
  const verb: CommandVerb = {
    name: 'weigh',
    usage: '[--unit NAME] [--of NAME …] [--quiet] FILE',
    summary: 'weighs one file',
    example: 'weigh --unit g box.txt',
    options: { unit: 'text', of: 'texts', quiet: 'flag', 'lifetime-seconds': 'text' },
    wordsMax: 1,
    json: { prints: 'one document', members: ['grams', 'parts (name)', 'absent'] },
    run: async (call) => {
      act(call)
      return EXIT.done
    },
  }
  const code = await runCommand(
    { name: 'scale', title: 'weighs', verbs: [verb], notes: ['A note.'], explainRefusal },
    {
      arguments: list,
      environment,
      clock: manualClock(0),
      stdin: (async function* () {
        yield new Uint8Array()
      })(),
      print: (line) => printed.push(line),
      printError: (line) => errors.push(line),
    },
  )
  return { code, printed: printed.join('\n'), errors: errors.join('\n') }
}

async function readLifetime(list: readonly string[]): Promise<number | undefined> {
  let seconds: number | undefined
  const { code } = await run(['weigh', ...list], (call) => {
    seconds = lifetimeOption(call, 60)
  })
  return code === EXIT.done ? seconds : code
}

describe('a command', () => {
  it('passes words, options and flags to its verb', async () => {
    const seen: unknown[] = []
    const { code, printed, errors } = await run(
      ['weigh', '--unit', 'g', '--of', 'a', '--of', 'b', '--quiet', 'box'],
      ({ words, text, texts, has }) =>
        seen.push(words, text('unit'), texts('of'), has('quiet'), text('absent')),
    )
    expect(seen).toEqual([['box'], 'g', ['a', 'b'], true, undefined])
    expect({ code, printed, errors }).toEqual({ code: 0, printed: '', errors: '' })
  })

  it.each([[['help']], [['--help']], [['-h']]])(
    'prints its help for %j and exits 0',
    async (list) => {
      const { code, printed } = await run(list)
      expect(code).toBe(0)
      expect(printed).toBe(
        'scale: weighs\n\n  scale weigh [--unit NAME] [--of NAME …] [--quiet] FILE [--json]\n      weighs one file\n\nA note.\nAn example of each: scale VERB --help.',
      )
    },
  )

  it('without a verb prints its help and exits 2', async () => {
    const { code, printed } = await run([])
    expect(code).toBe(2)
    expect(printed).toContain('scale: weighs')
  })

  it('takes a word and a value that begin with a dash, as a key’s id does once in 64', async () => {
    let read: readonly unknown[] = []
    const { code } = await run(['weigh', '-kQ', '--unit', '-g'], (call) => {
      read = [...call.words, call.text('unit')]
    })
    expect([code, ...read]).toEqual([EXIT.done, '-kQ', '-g'])
  })

  it('lists its verbs when given an unknown one, and exits 2', async () => {
    const { code, errors } = await run(['measure'])
    expect({ code, errors }).toEqual({
      code: 2,
      errors: 'There is no such verb. The verbs are: weigh.',
    })
  })

  it('says which verb and which option were probably meant', async () => {
    expect((await run(['wegh'])).errors).toContain('Did you mean weigh?')
    expect((await run(['we'])).errors).toContain('Did you mean weigh?')
    expect((await run(['weigh', '--qiet'])).errors).toMatch(
      /^There is no --qiet. Did you mean --quiet\? /,
    )
  })

  it.each(['--help', '-h'])(
    'explains a verb with %s, with an example, and exits 0',
    async (flag) => {
      const { code, printed } = await run(['weigh', 'box', flag])
      expect([code, printed.split('\n')]).toEqual([
        0,
        [
          'Usage: scale weigh [--unit NAME] [--of NAME …] [--quiet] FILE [--json]',
          '  weighs one file',
          '',
          'Example: scale weigh --unit g box.txt',
          'With --json one document: grams, parts (name), absent.',
        ],
      ])
    },
  )

  it('S15: --json prints the members that its help names and no other, money as text', async () => {
    const { code, printed } = await run(['weigh', '--json'], (call) => {
      if (call.isJson) call.printJson({ parts: [{ name: 'box' }], secret: 1, grams: 2n ** 64n })
    })
    expect([code, printed]).toEqual([
      0,
      '{"grams":"18446744073709551616","parts":[{"name":"box"}]}',
    ])
  })

  it('says its version', async () => {
    const { code, printed } = await run(['--version'])
    expect([code, printed]).toEqual([0, expect.stringMatching(/^scale \d+\.\d+\.\d+$/)])
  })

  it('names an unknown option without its value, and exits 2', async () => {
    const { code, errors } = await run(['weigh', '--secret', 's3cr3t'])
    expect([code, errors]).toEqual([2, expect.stringMatching(/^There is no --secret. Usage: /)])
    expect(errors).not.toContain('s3cr3t')
  })

  it.each([
    ['one word too many', ['weigh', 'box', 's3cr3t']],
    ['an option without its value', ['weigh', '--unit']],
  ])('refuses %s with the usage, repeats no value, and exits 2', async (_, list) => {
    const { code, errors } = await run(list)
    expect(code).toBe(2)
    expect(errors).toBe('Usage: scale weigh [--unit NAME] [--of NAME …] [--quiet] FILE [--json]')
  })

  it('names every bad variable, never a value, and exits 2', async () => {
    const schema = z.object({ KEY: secretField(), SIZE: z.coerce.number().int() })
    const { code, errors } = await run(
      ['weigh'],
      ({ terminal }) => readVariables(terminal, schema),
      {
        SIZE: 's3cr3t',
      },
    )
    expect(code).toBe(2)
    expect(errors).toMatch(/KEY: .*\n.*SIZE: /)
    expect(errors).not.toContain('s3cr3t')
  })

  it('S11: names a variable one slip away from a known one, and goes on', async () => {
    const schema = z.object({ SIZE_MM: z.string().optional() })
    const weigh = ({ terminal }: CommandCall): Promise<ExitCode> => {
      readVariables(terminal, schema)
      return Promise.resolve(EXIT.done)
    }
    expect(await run(['weigh'], weigh, { SIZE_M: 's3cr3t' })).toMatchObject({
      code: 0,
      errors: 'Nobody reads SIZE_M; is SIZE_MM meant?',
    })
  })

  it('prints an error that a person can act on, and exits 1', async () => {
    const { code, errors } = await run(['weigh'], () => {
      throw new StoreDown()
    })
    expect({ code, errors }).toEqual({ code: 1, errors: 'the store' })
  })

  it('throws a bug', async () => {
    const bug = new TypeError('a bug')
    await expect(
      run(['weigh'], () => {
        throw bug
      }),
    ).rejects.toBe(bug)
  })

  it('takes a lifetime in whole seconds, at most a year', async () => {
    expect(await readLifetime([])).toBe(60)
    expect(await readLifetime(['--lifetime-seconds', '31536000'])).toBe(31_536_000)
    for (const bad of ['0', '-1', '1.5', 'x', '31536001'])
      expect(await readLifetime([`--lifetime-seconds=${bad}`]), bad).toBe(EXIT.usage)
  })

  it.each([1, 5, 64])(
    'a line of input ends at LF alone, however the bytes arrive: %d at a time',
    async (size) => {
      const lines = ['{"a":"\u2028 \u2029 \u0085"}', '', 'naïve 𝄞\r', 'no end']
      const bytes = Buffer.from(lines.join('\n'))
      const stdin = (async function* () {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
      })()
      const read: string[] = []
      const terminal = {
        arguments: [],
        environment: {},
        clock: manualClock(0),
        stdin,
        print: () => undefined,
        printError: () => undefined,
      }
      for await (const line of inputLines(terminal, '-')) read.push(line)
      expect(read).toEqual(lines)
    },
  )

  it('prints the text of a usage error unchanged', async () => {
    const { code, errors } = await run(['weigh'], () => {
      throw new BadUsage('Say what: FILE.')
    })
    expect({ code, errors }).toEqual({ code: 2, errors: 'Say what: FILE.' })
  })
})
