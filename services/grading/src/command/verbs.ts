import { backupVerb } from './backup-verb.ts'
import { exportVerb } from './export-verb.ts'
import type { GradingVerb } from './grading-verb.ts'
import { importVerb } from './import-verb.ts'
import { seedVerb } from './seed-verb.ts'
import { tableVerb } from './table-verb.ts'
import { tokenVerb } from './token-verb.ts'
import { verifyVerb } from './verify-verb.ts'

/** Every verb of `grading`, in the order of its help. */
export const verbs: readonly GradingVerb[] = [
  importVerb,
  seedVerb,
  tableVerb,
  verifyVerb,
  exportVerb,
  tokenVerb,
  backupVerb,
]
