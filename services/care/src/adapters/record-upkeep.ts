// What an operator does to a store on SQLite: backups, and the key of its checkpoints.
import {
  type AcceptedJournal,
  acceptSqliteBackup,
  backupSqliteStore,
  loadCheckpointSeed as loadKeptSeed,
  type StoreOwner,
} from '@tallystick/journal-store'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import { AUDIENCES, type Audience } from '../wire/records.ts'
import { RECORDS } from './sqlite-record-database.ts'

/** The seed that signs a store's checkpoints: the configured one, else the one kept beside the database. */
export const loadCheckpointSeed = (
  databasePath: string,
  configured: Uint8Array | undefined,
): Uint8Array => configured ?? loadKeptSeed(databasePath, RecordStoreUnavailable)

/** Copies the records of a store into a new file; returns how many entries each journal has there. */
export const backupRecords = (paths: {
  readonly databasePath: string
  readonly targetPath: string
}): Promise<Readonly<Record<Audience, number>>> => backupSqliteStore(RECORDS, paths)

/** What was accepted of each journal. */
export const acceptedOf = (accepted: Readonly<Record<Audience, AcceptedJournal>>) =>
  AUDIENCES.map((audience) => {
    const { size, signedSize } = accepted[audience]
    return { audience, size, signedSize }
  })

/** Signs the journals as they are found, so that a restored backup opens again. */
export const acceptBackup = (owner: StoreOwner) =>
  acceptedOf(acceptSqliteBackup<Audience>(RECORDS, owner))
