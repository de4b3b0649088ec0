import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { BadUsage, type CommandCall, type CommandVerb, EXIT } from '@tallystick/service-kit/command'
import {
  type ExportedChain,
  type ExportReport,
  NotAnExport,
  verifyExport,
} from '../domain/verify-export.ts'

/** `care verify`: replays an export, with nothing but the export. */
export const verifyVerb: CommandVerb = {
  name: 'verify',
  usage: 'FILE|- [--key VERIFIER_KEY]… [--json]',
  summary:
    'replays an export offline: chains, journals and checkpoint; needs no key of the service',
  options: { key: 'texts', json: 'flag' },
  wordsMax: 1,
  run: async (call) => {
    const [file] = call.words
    if (file === undefined) throw new BadUsage('Name the export’s file, or - for standard input.')
    const keys = call.texts('key')
    const report = await readReport(call, { file, keys })
    const lines = call.has('json') ? [JSON.stringify(report)] : reportLines(report, keys)
    for (const line of lines) call.terminal.print(line)
    return report.isIntact ? EXIT.done : EXIT.failed
  },
}

async function readReport(
  { terminal }: CommandCall,
  { file, keys }: { readonly file: string; readonly keys: readonly string[] },
): Promise<ExportReport> {
  const input = file === '-' ? Readable.from(terminal.stdin) : createReadStream(file)
  try {
    // Waits for the first bytes, so that a file that is not there is an error here.
    await new Promise<void>((resolve, reject) => {
      input.once('readable', () => resolve())
      input.once('error', reject)
    })
    return await verifyExport(createInterface({ input, crlfDelay: Infinity }), keys)
  } catch (error) {
    if (error instanceof NotAnExport) throw new BadUsage(`${error.message}.`, { cause: error })
    if (error instanceof Error && 'code' in error)
      throw new BadUsage(`${file} cannot be read.`, { cause: error })
    throw error
  } finally {
    input.destroy()
  }
}

const chainLine = ({ uri, versions, brokenAt, fault }: ExportedChain): string =>
  brokenAt === undefined
    ? `INTACT  ${uri}  ${counted(versions, 'version')}`
    : `BROKEN  ${uri}  at version ${brokenAt} of ${versions} (${fault ?? 'unknown'})`

function reportLines(report: ExportReport, keys: readonly string[]): readonly string[] {
  const { chains, journals, problems, versions, isIntact } = report
  const broken = chains.filter(({ brokenAt }) => brokenAt !== undefined).length
  return [
    ...chains.map(chainLine),
    ...journals.map(
      ({ journal, size, origin, verifierKey }) =>
        `JOURNAL ${journal}: ${counted(size, 'entry')}, checkpoint of ${origin}, key ${verifierKey}`,
    ),
    ...problems.map((problem) => `PROBLEM ${problem}`),
    isIntact
      ? `All ${counted(chains.length, 'chain')} intact, ${counted(versions, 'version')} replayed.`
      : `CHAIN BROKEN: ${broken} of ${counted(chains.length, 'chain')}, ${counted(problems.length, 'other problem')}.`,
    ...(keys.length > 0 || journals.length === 0
      ? []
      : ['The key is the export’s own word: compare it with the one that you know (--key).']),
  ]
}

function counted(count: number, noun: string): string {
  const plural = noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`
  return `${count} ${count === 1 ? noun : plural}`
}
