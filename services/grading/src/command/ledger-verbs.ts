/** The verbs that check, copy and restore the ledger. */
import type { AcceptedJournal } from '@tallystick/journal-store'
import {
  BadUsage,
  type CommandCall,
  type CommandVerb,
  EXIT,
  type ExitCode,
  inputLines,
  writeOutput,
} from '@tallystick/service-kit/command'
import { databaseVerbs } from '@tallystick/service-kit/database-verbs'
import {
  acceptBackup,
  backupGrading,
  migrateLedger,
  moveLedger,
} from '../adapters/ledger-upkeep.ts'
import { ledgerOwner } from '../adapters/open-stores.ts'
import type { LedgerVerdict } from '../domain/closes/grading-store.ts'
import { exportLines, verifyExport } from '../domain/closes/ledger-export.ts'
import { existingLedger, readStoreConfig, withLedger, withStore } from './command-store.ts'

function printBroken(
  { isJson, printJson, terminal }: CommandCall,
  { problem, seq }: Extract<LedgerVerdict, { kind: 'broken' }>,
): ExitCode {
  if (isJson) printJson({ isIntact: false, problem, seq })
  else terminal.print(`BROKEN${seq === undefined ? '' : ` at entry ${seq}`}: ${problem}.`)
  return EXIT.failed
}

async function verifyFile(call: CommandCall, file: string): Promise<ExitCode> {
  const { terminal } = call
  const verdict = await verifyExport(inputLines(terminal, file), call.text('key'))
  if (verdict.kind === 'broken') return printBroken(call, verdict)
  if (call.isJson) {
    call.printJson({ ...verdict, isIntact: true })
    return EXIT.done
  }
  terminal.print(`INTACT: ${verdict.entries} entries hash to the checkpoint of ${verdict.origin}.`)
  terminal.print(`Signed by ${verdict.verifierKey}`)
  if (call.text('key') === undefined)
    terminal.print(
      'The key is named by the export itself: compare it with the one you know (--key).',
    )
  return EXIT.done
}

export const verifyVerb: CommandVerb = {
  name: 'verify',
  usage: '[EXPORT|-] [--key VERIFIER_KEY]',
  summary:
    'rehashes every entry and recounts the truth table; with a file, checks an export offline',
  example: 'verify grading-export.jsonl',
  options: { key: 'text' },
  json: {
    prints: 'one document',
    members: ['isIntact', 'entries', 'rootHash', 'origin', 'verifierKey', 'problem', 'seq'],
  },
  wordsMax: 1,
  run: async (call) => {
    const [file] = call.words
    if (file !== undefined) return verifyFile(call, file)
    // `unchecked`: verify must report a broken ledger that other verbs refuse to open.
    const verdict = await withLedger(call.terminal, (store) => store.verify(), 'unchecked')
    if (verdict.kind === 'broken') return printBroken(call, verdict)
    const { entries } = verdict
    const rootHash = Buffer.from(verdict.rootHash).toString('hex')
    if (call.isJson) call.printJson({ isIntact: true, entries, rootHash })
    else
      call.terminal.print(
        `INTACT: ${entries} entries, root ${rootHash}; the truth table matches them.`,
      )
    return EXIT.done
  },
}

/**
 * `grading export`: every entry as hashed, one JSON line each, then the signed checkpoint. For the operator only: it
 * holds prices that may not be redistributed.
 */
export const exportVerb: CommandVerb = {
  name: 'export',
  usage: '[--output FILE]',
  summary: 'writes every entry and the signed checkpoint as JSON lines, for `grading verify FILE`',
  example: 'export --output grading-export.jsonl',
  options: { output: 'text' },
  run: (call) =>
    withLedger(call.terminal, async (store) => {
      await writeOutput(call, exportLines(store))
      return EXIT.done
    }),
}

/** `grading backup`: copies ledger and reservations into new files while the service runs (S8). */
export const backupVerb: CommandVerb = {
  name: 'backup',
  usage: 'TARGET',
  summary:
    'copies the ledger into a new file, and its payments beside it, even while the service runs',
  example: 'backup /backup/grading.db',
  wordsMax: 1,
  run: async ({ terminal, words }) => {
    const [targetPath] = words
    if (targetPath === undefined) throw new BadUsage('Name the file to write the backup to.')
    const { DATABASE_PATH: databasePath, DATABASE_URL } = existingLedger(terminal)
    if (DATABASE_URL !== undefined)
      throw new BadUsage('The server backs up its databases itself: docs/how-to/postgres.md.')
    for (const path of await backupGrading({ databasePath, targetPath }))
      terminal.print(`${path}: written and checked.`)
    terminal.print(
      'The backup does not contain the checkpoint key: keep the .checkpoint-key file separately.',
    )
    return EXIT.done
  },
}

function givenUp({ isContinued, signedSize, size }: AcceptedJournal): string {
  if (signedSize === undefined) return 'there was no checkpoint by this key'
  const counted = `the last checkpoint counted ${signedSize}`
  if (signedSize > size) return `${counted}: ${signedSize - size} are given up`
  return isContinued ? `${counted}: none is given up` : `${counted}, but not these`
}

export const acceptBackupVerb: CommandVerb = {
  name: 'accept-backup',
  summary: 'signs the ledger as it stands, after a deliberate restore',
  example: 'accept-backup',
  run: async ({ terminal }) => {
    const config = existingLedger(terminal)
    const accepted = await acceptBackup(ledgerOwner(config), config.DATABASE_URL)
    // As it stands: with the first parts of imports that were cut off.
    await withStore(terminal, (store) => store.endImport('%'))
    terminal.print(`${accepted.size} entries accepted; ${givenUp(accepted)}.`)
    return EXIT.done
  },
}

/** `grading migrate` and `grading move`. */
export const ledgerDatabaseVerbs = databaseVerbs({
  noun: 'the ledger',
  readConfig: readStoreConfig,
  migrate: migrateLedger,
  move: moveLedger,
})
