/** Describes a store, whichever engine keeps it: journals by name, each with a file for its last checkpoint. */
import type { KeyRing } from '@tallystick/hashchain'
import {
  type CheckpointFile,
  type CheckpointNames,
  checkpointFile,
  type StoreOwner,
} from './checkpoint-file.ts'
import { eachJournal } from './journal.ts'
import type { SealKind } from './seal-keys.ts'
import type { UnavailableError } from './unavailable.ts'

/** A journal's table, on either engine. */
export type JournalTable = CheckpointNames & {
  /** In the operator's messages: `the ledger`. */
  readonly noun: string
  readonly table: string
}

/** Describes one service's store, on either engine. */
export type StoreKind<Name extends string, Table extends JournalTable> = {
  readonly journals: Readonly<Record<Name, Table>>
  /** Most writes in one transaction. */
  readonly writesPerCommitMax: number
  /** The service's own error. */
  readonly Unavailable: UnavailableError
  /** The same, of a store that an operator must judge: it does not come to what it signed. By default `Unavailable`. */
  readonly Behind?: UnavailableError
  /** The command that signs a restored backup, such as `care accept-backup`. */
  readonly acceptCommand: string
  /** Set if bodies may be sealed. */
  readonly seal?: SealKind
}

/** How a store is opened, whichever engine keeps it. */
export type StoreOpening = StoreOwner & {
  /** Its active key is the one that the store must find again; without a ring the store is in the clear. */
  readonly keyRing?: KeyRing | undefined
  /** `unchecked` opens even what its last checkpoint refuses, to verify it. One-process stores on SQLite ignore it. */
  readonly checkpoint?: 'checked' | 'unchecked' | undefined
  /** Called for failures in the background: a checkpoint file that cannot be written, heads that cannot be read. */
  readonly onProblem?: ((error: unknown) => void) | undefined
}

type Files<Name extends string> = Readonly<Record<Name, CheckpointFile>>

/** The checkpoint files of a store. */
export const openCheckpointFiles = <Name extends string>(
  kind: Pick<StoreKind<Name, JournalTable>, 'journals' | 'Unavailable'>,
  owner: StoreOwner,
): Files<Name> =>
  eachJournal(kind, (table) => checkpointFile({ ...table, owner, Unavailable: kind.Unavailable }))
