import type { CommandVerb } from '@tallystick/service-kit/command'
import { acceptBackupVerb } from './accept-backup-verb.ts'
import { auditVerb } from './audit-verb.ts'
import { backupVerb } from './backup-verb.ts'
import { exportVerb } from './export-verb.ts'
import { resealVerb } from './reseal-verb.ts'
import { tokenVerb } from './token-verb.ts'
import { verifyVerb } from './verify-verb.ts'

/** Every verb of `care`, in the order of its help. */
export const verbs: readonly CommandVerb[] = [
  verifyVerb,
  exportVerb,
  auditVerb,
  tokenVerb,
  backupVerb,
  acceptBackupVerb,
  resealVerb,
]
