import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import {
  BadUsage,
  type CommandCall,
  type CommandVerb,
  EXIT,
  type ExitCode,
} from '@tallystick/service-kit/command'
import { verifyExport } from '../domain/verify-export.ts'
import { withLedger } from './command-store.ts'

async function verifyFile(call: CommandCall, file: string): Promise<ExitCode> {
  const { terminal } = call
  const input = file === '-' ? Readable.from(terminal.stdin) : createReadStream(file)
  try {
    const lines = createInterface({ input, crlfDelay: Infinity })
    const verdict = await verifyExport(lines, call.text('key'))
    if (verdict.kind === 'broken') {
      terminal.print(
        `BROKEN${verdict.seq === undefined ? '' : ` at entry ${verdict.seq}`}: ${verdict.problem}.`,
      )
      return EXIT.failed
    }
    terminal.print(
      `INTACT: ${verdict.entries} entries hash to the checkpoint of ${verdict.origin}.`,
    )
    terminal.print(`Signed by ${verdict.verifierKey}`)
    if (call.text('key') === undefined)
      terminal.print(
        'The key is the export’s own word: compare it with the one that you know (--key).',
      )
    return EXIT.done
  } catch (error) {
    if (error instanceof Error && 'code' in error)
      throw new BadUsage(`${file} cannot be read.`, { cause: error })
    throw error
  } finally {
    input.destroy()
  }
}

/** `grading verify`: the service's ledger, or an export without anything but the export. */
export const verifyVerb: CommandVerb = {
  name: 'verify',
  usage: '[EXPORT|-] [--key VERIFIER_KEY]',
  summary:
    'rehashes every entry and recounts the truth table; with a file, checks an export offline',
  options: { key: 'text' },
  wordsMax: 1,
  run: async (call) => {
    const [file] = call.words
    if (file !== undefined) return verifyFile(call, file)
    // It says what another verb is refused for.
    const verdict = await withLedger(call.terminal, (store) => store.verify(), 'unchecked')
    if (verdict.kind === 'intact') {
      call.terminal.print(
        `INTACT: ${verdict.entries} entries, root ${Buffer.from(verdict.rootHash).toString('hex')}; the truth table is what they come to.`,
      )
      return EXIT.done
    }
    const place = verdict.seq === undefined ? '' : ` at entry ${verdict.seq}`
    call.terminal.print(`BROKEN${place}: ${verdict.problem}.`)
    return EXIT.failed
  },
}
