import { withCauses } from '@tallystick/service-kit'
import {
  type CommandTerminal,
  type CommandVerb,
  type ExitCode,
  runCommand,
} from '@tallystick/service-kit/command'
import { gradingConfigSchema } from '../config.ts'
import { GradingStoreUnavailable } from '../domain/closes/grading-store.ts'
import { auditVerb } from './audit-verb.ts'
import { importVerb, seedVerb } from './import-verb.ts'
import {
  acceptBackupVerb,
  backupVerb,
  exportVerb,
  ledgerDatabaseVerbs,
  verifyVerb,
} from './ledger-verbs.ts'
import { tableVerb } from './table-verb.ts'
import { tokenVerb } from './token-verb.ts'

/** Every verb of `grading`, in the order of its help. */
const verbs: readonly CommandVerb[] = [
  importVerb,
  seedVerb,
  auditVerb,
  tableVerb,
  verifyVerb,
  exportVerb,
  tokenVerb,
  backupVerb,
  acceptBackupVerb,
  ...ledgerDatabaseVerbs,
]

const NOTES = [
  'Reads the service’s environment: DATABASE_PATH, BASE_URL, TOKEN_SECRET (or TOKEN_SECRET_FILE); on PostgreSQL DATABASE_URL and CHECKPOINT_KEY too.',
  'Exit codes: 0 done or intact; 1 broken, refused or out of reach; 2 bad argument, variable or input.',
]

const explainRefusal = (error: unknown): string | undefined =>
  error instanceof GradingStoreUnavailable ? withCauses(error.message, error) : undefined

/** Runs one line of `grading` and returns its exit code. Bugs throw. */
export async function runGrading(terminal: CommandTerminal): Promise<ExitCode> {
  const title = 'the bet-grading ledger’s command'
  const stack = { service: 'grading', variables: Object.keys(gradingConfigSchema.shape) }
  return await runCommand(
    { name: 'grading', title, verbs, notes: NOTES, explainRefusal, stack },
    terminal,
  )
}
