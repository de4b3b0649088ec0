// The file that holds the keys of chains and what was erased, and copies of it.
import { backupSqliteFile, type SqliteFileKind } from '@tallystick/journal-store'
import {
  type ErasedName,
  type KeptErasure,
  RecordStoreUnavailable,
} from '../domain/record-store.ts'

/** The file's own key: the records name it, so another or an empty file is noticed. */
export const FILE_KEY_CHAIN = ''

/** What the file is. */
export const CHAIN_KEYS = {
  applicationId: 0x54616c6b, // Talk
  migrations: [
    `
CREATE TABLE chain_keys (
  chain TEXT PRIMARY KEY, -- patient|domain; empty for the key of this file
  key_id TEXT NOT NULL UNIQUE,
  wrapped BLOB NOT NULL -- the key, sealed under one of SEAL_KEYS
) STRICT;
CREATE TABLE erasures (
  chain TEXT PRIMARY KEY, -- patient|domain
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;`,
  ],
  // Resealing and erasing write beside a running service, each for milliseconds.
  busyTimeoutMs: 2_000,
  isCheckedAtOpening: true,
  Unavailable: RecordStoreUnavailable,
} as const satisfies SqliteFileKind

/** A chain's name in this file and in erasures: patient and domain hold no `|`. */
export const chainName = ({ patient, domain }: { patient: string; domain: string }): string =>
  `${patient}|${domain}`

export function namesOfChain(chain: string): ErasedName {
  const [patient = '', domain = ''] = chain.split('|', 2)
  return { patient, domain }
}

/** An erasure as both files keep it. */
export function erasureOfRow([chain, at, actor, reason]: readonly [
  chain: string,
  at: string,
  actor: string,
  reason: string,
]): KeptErasure {
  return { ...namesOfChain(chain), at, actor, reason }
}

/** Copies the file; the newest copy alone opens everything. Rejects with RecordStoreUnavailable. */
export const backupChainKeys = (paths: {
  readonly databasePath: string
  readonly targetPath: string
}): Promise<number> =>
  backupSqliteFile(paths, CHAIN_KEYS, (copy) =>
    Number(
      copy.prepare("SELECT count(*) AS kept FROM chain_keys WHERE chain <> ''").get()?.['kept'],
    ),
  )
