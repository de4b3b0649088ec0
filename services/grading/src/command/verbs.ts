import type { CommandVerb } from '@tallystick/service-kit/command'
import { acceptBackupVerb } from './accept-backup-verb.ts'
import { backupVerb } from './backup-verb.ts'
import { exportVerb } from './export-verb.ts'
import { importVerb } from './import-verb.ts'
import { seedVerb } from './seed-verb.ts'
import { tableVerb } from './table-verb.ts'
import { tokenVerb } from './token-verb.ts'
import { verifyVerb } from './verify-verb.ts'

/** Every verb of `grading`, in the order of its help. */
export const verbs: readonly CommandVerb[] = [
  importVerb,
  seedVerb,
  tableVerb,
  verifyVerb,
  exportVerb,
  tokenVerb,
  backupVerb,
  acceptBackupVerb,
]
