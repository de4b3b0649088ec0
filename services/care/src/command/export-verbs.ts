import { existsSync } from 'node:fs'
import { errorMessage } from '@tallystick/journal-store'
import { isoNow } from '@tallystick/service-kit'
import {
  BadUsage,
  type CommandCall,
  type CommandVerb,
  EXIT,
  inputLines,
  writeOutput,
} from '@tallystick/service-kit/command'
import { openRecordReader, openStores, type Stores } from '../adapters/open-stores.ts'
import { readWholeExport } from '../adapters/records/record-import.ts'
import { FHIR_BUNDLES, type FhirBundleType, fhirBundle } from '../domain/fhir-bundle.ts'
import {
  type ExportedChain,
  type ExportReport,
  NotAnExport,
  verifyExport,
} from '../domain/verify-export.ts'
import { AUDIENCES } from '../wire/audience.ts'
import { slotOption, storeConfig } from './command-config.ts'

export const verifyVerb: CommandVerb = {
  name: 'verify',
  usage: 'FILE|- [--key VERIFIER_KEY]…',
  summary:
    'replays an export offline: chains, journals and checkpoint; needs none of the service’s keys',
  example: 'verify care-export.jsonl --json',
  options: { key: 'texts' },
  json: {
    prints: 'one document',
    members: [
      'isIntact',
      'versions',
      'chains (uri, versions, erased, oldName, brokenAt, fault)',
      'journals (journal, size, origin, verifierKey)',
      'problems',
    ],
  },
  wordsMax: 1,
  run: async (call) => {
    const [file] = call.words
    if (file === undefined) throw new BadUsage('Name the export’s file, or - for standard input.')
    const keys = call.texts('key')
    const report = await readReport(call, { file, keys })
    if (call.isJson) call.printJson(report)
    else for (const line of reportLines(report, keys)) call.terminal.print(line)
    return report.isIntact ? EXIT.done : EXIT.failed
  },
}

async function readReport(
  { terminal }: CommandCall,
  { file, keys }: { readonly file: string; readonly keys: readonly string[] },
): Promise<ExportReport> {
  try {
    return await verifyExport(inputLines(terminal, file), keys)
  } catch (error) {
    if (error instanceof NotAnExport) throw new BadUsage(`${error.message}.`, { cause: error })
    throw error
  }
}

const chainLine = ({ uri, versions, brokenAt, erased, fault, oldName }: ExportedChain): string =>
  brokenAt === undefined
    ? `INTACT  ${uri}  ${counted(versions, 'version')}${erased === undefined ? '' : ', erased: values gone, leaves hold'}${oldName ? ', under a name of before: nobody adds to it' : ''}`
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
      : ['The key is named by the export itself: compare it with the one you know (--key).']),
  ]
}

function counted(count: number, noun: string): string {
  const plural = noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`
  return `${count} ${count === 1 ? noun : plural}`
}

/** `care export`: writes what `care verify` reads, straight from the store, even while the service runs. */
export const exportVerb: CommandVerb = {
  name: 'export',
  usage:
    '[--audience user|assistant|all] [--uri URI] [--fhir collection|transaction] [--output FILE]',
  summary:
    'writes records, journals and checkpoints as NDJSON, or records alone as a FHIR R4 Bundle; holds values in the clear',
  example: 'export --uri care://ann/plan --output ann-plan.jsonl',
  options: { audience: 'text', uri: 'text', fhir: 'text', output: 'text' },
  run: async (call) => {
    const fhir = readFhirType(call)
    const query = readQuery(call)
    const config = storeConfig(call.terminal)
    const reader = await openRecordReader(config)
    try {
      const exportLines = () => reader.exportLines(query)
      const lines =
        fhir === undefined
          ? exportLines()
          : fhirBundle(exportLines, { baseUrl: config.BASE_URL, type: fhir })
      await writeOutput(call, lines)
    } finally {
      await reader.close()
    }
    return EXIT.done
  },
}

/** `care import`: takes what `care export` writes up into a new store, whose keys it is sealed under from its first version. */
export const importVerb: CommandVerb = {
  name: 'import',
  usage: 'FILE',
  summary:
    'takes an export of everything up into an empty store, sealed if SEAL_KEYS is set; entries, hashes and roots stay the same',
  example: 'import care-export.jsonl',
  wordsMax: 1,
  run: async ({ terminal, words: [file] }) => {
    if (file === undefined || file === '-') throw new BadUsage('Name the export’s file.')
    const config = storeConfig(terminal)
    let stores: Stores | undefined
    try {
      // A failed import makes no store.
      if (config.DATABASE_URL === undefined && !existsSync(config.DATABASE_PATH))
        await readWholeExport(inputLines(terminal, file))
      stores = await openStores(config, {
        clock: terminal.clock,
        onProblem: (error) => terminal.printError(errorMessage(error)),
      })
      const at = isoNow(terminal.clock)
      const sizes = await stores.records.importLines({
        lines: () => inputLines(terminal, file),
        at,
      })
      for (const audience of AUDIENCES)
        terminal.print(`${audience} journal: ${counted(sizes[audience], 'entry')}, as exported.`)
    } catch (error) {
      if (error instanceof NotAnExport) throw new BadUsage(`${error.message}.`, { cause: error })
      throw error
    } finally {
      await stores?.close()
    }
    return EXIT.done
  },
}

function readFhirType(call: CommandCall): FhirBundleType | undefined {
  const named = call.text('fhir')
  const type = FHIR_BUNDLES.find((known) => known === named)
  if (named !== undefined && type === undefined)
    throw new BadUsage('--fhir takes collection or transaction.')
  return type
}

function readQuery(call: CommandCall) {
  // A Bundle goes to another system: internal records only if they are asked for by name.
  const named = call.text('audience') ?? (call.text('fhir') === undefined ? 'all' : 'user')
  const audiences = AUDIENCES.filter((audience) => named === 'all' || named === audience)
  if (audiences.length === 0) throw new BadUsage('--audience takes user, assistant or all.')
  const slot = slotOption(call)
  return slot === undefined ? { audiences } : { audiences: [slot.audience], slot }
}
