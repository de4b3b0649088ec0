import { createNoteSigner } from '@tallystick/hashchain'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'
import {
  checkpointPathOf,
  hasAllOf,
  readCheckpointFile,
  signHead,
  writeCheckpointFile,
} from './checkpoint-file.ts'
import { openGradingDatabase, reading } from './sqlite-grading-database.ts'
import { openLedgerTree } from './sqlite-ledger-tree.ts'
import { verifyLedger } from './sqlite-verify.ts'

/** What was accepted. */
export type AcceptedLedger = {
  /** Entries that are there now. */
  readonly size: number
  /** The last checkpoint, and whether the ledger has all that it signed; undefined where none by this key was there. */
  readonly last: { readonly size: number; readonly isContinued: boolean } | undefined
}

/**
 * Signs a ledger as it is found, so that a restored backup opens again. Apart from its checkpoint it must hold in every
 * way that verifying looks at; what the last checkpoint counted beyond it is given up. Throws GradingStoreUnavailable.
 */
export async function acceptBackup(options: {
  readonly databasePath: string
  readonly checkpointSeed: Uint8Array
  readonly origin: string
}): Promise<AcceptedLedger> {
  const { checkpointSeed: seed, databasePath, origin } = options
  const path = checkpointPathOf(databasePath)
  const read = readCheckpointFile(path, seed)
  const database = openGradingDatabase(databasePath)
  try {
    const verdict = await verifyLedger(database, { kind: 'absent' })
    if (verdict.kind === 'broken')
      throw new GradingStoreUnavailable(
        `nothing is accepted: ${verdict.problem}${verdict.seq === undefined ? '' : `, at entry ${verdict.seq}`}`,
      )
    const { entries: size, rootHash } = verdict
    const last =
      read.kind !== 'checkpoint'
        ? undefined
        : {
            size: read.checkpoint.size,
            isContinued: reading(() => hasAllOf(openLedgerTree(database), read.checkpoint)),
          }
    const signer = createNoteSigner({ keyName: origin, seed })
    writeCheckpointFile(path, signHead(signer, { size, rootHash }))
    return { size, last }
  } finally {
    database.close()
  }
}
