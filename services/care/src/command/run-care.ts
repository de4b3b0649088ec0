import { withCauses } from '@tallystick/service-kit'
import {
  type CommandTerminal,
  type CommandVerb,
  type ExitCode,
  runCommand,
} from '@tallystick/service-kit/command'
import { careConfigSchema } from '../config.ts'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import { terminalLine } from '../wire/text-of-others.ts'
import { auditVerb, eventsVerb, readsVerb } from './audit-verbs.ts'
import {
  backupKeysVerb,
  eraseVerb,
  erasuresVerb,
  freesVerb,
  freeVerb,
  restoreKeysVerb,
} from './erasure-verbs.ts'
import { exportVerb, importVerb, verifyVerb } from './export-verbs.ts'
import { revokeVerb } from './revoke-verb.ts'
import { acceptBackupVerb, backupVerb, recordVerbs } from './store-verbs.ts'
import { revocationsVerb, tokenVerb } from './token-verbs.ts'

/** Every verb of `care`, in the order of its help. */
const verbs: readonly CommandVerb[] = [
  verifyVerb,
  exportVerb,
  importVerb,
  auditVerb,
  readsVerb,
  eventsVerb,
  tokenVerb,
  revokeVerb,
  revocationsVerb,
  backupVerb,
  acceptBackupVerb,
  eraseVerb,
  erasuresVerb,
  freeVerb,
  freesVerb,
  backupKeysVerb,
  restoreKeysVerb,
  ...recordVerbs,
]

const NOTES = [
  'Everything but verify reads the service’s environment: DATABASE_PATH, DATABASE_URL, SEAL_KEYS, CHAIN_KEYS_PATH,',
  'CHAIN_KEYS_URL, CHAIN_KEYS_BACKUP_DAYS, CHECKPOINT_KEY, TOKEN_SECRET (or SEAL_KEYS_FILE, …), TRUSTED_ISSUERS, BASE_URL, SERVICE_NAME.',
  'Exit codes: 0 done or intact; 1 broken, refused or out of reach; 2 bad argument, variable or input.',
]

const explainRefusal = (error: unknown): string | undefined =>
  error instanceof RecordStoreUnavailable ? withCauses(error.message, error) : undefined

/** Runs one line of `care` and returns its exit code. No verb prints what controls a terminal (C45). Bugs throw. */
export async function runCare(terminal: CommandTerminal): Promise<ExitCode> {
  const title = 'the care-record store’s command'
  const lines: CommandTerminal = {
    ...terminal,
    print: (line) => terminal.print(terminalLine(line)),
    // The problems of a configuration are several lines, and none of them is of a record.
    printError: (text) => terminal.printError(text.split('\n').map(terminalLine).join('\n')),
  }
  const stack = { service: 'care', variables: Object.keys(careConfigSchema.shape) }
  return await runCommand(
    { name: 'care', title, verbs, notes: NOTES, explainRefusal, stack },
    lines,
  )
}
