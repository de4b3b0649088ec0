// The keys of chains in a file of SQLite beside or apart from the records, and copies of the keys of any place, which are such
// files too.
import { existsSync, rmSync } from 'node:fs'
import type { KeyRing } from '@tallystick/hashchain'
import {
  createGuards,
  errorMessage,
  openDiskProbe,
  openSqliteFile,
  openSqliteRows,
  readSchema,
  runAtOnce,
  type SqliteFileKind,
} from '@tallystick/journal-store'
import { RecordStoreUnavailable } from '../../domain/record-store.ts'
import {
  type ChainKeys,
  type ChainKeysCopy,
  type ChainKeysPlace,
  type ErasureRow,
  erasureOfRow,
  openChainKeys,
  PLACE_KEY_CHAIN,
  requireEmpty,
  rowOfErasure,
  type WrappedKey,
} from './chain-keys.ts'

/** What the file is. */
export const CHAIN_KEYS = {
  applicationId: 0x54616c6b, // Talk
  get migrations() {
    return [
      readSchema(
        new URL('./sqlite-chain-keys.schema.sql', import.meta.url),
        RecordStoreUnavailable,
      ),
    ]
  },
  // Erasing writes beside a running service, for milliseconds.
  busyTimeoutMs: 2_000,
  isCheckedAtOpening: true,
  Unavailable: RecordStoreUnavailable,
} as const satisfies SqliteFileKind

const { guardedNow } = createGuards(RecordStoreUnavailable)

const ADD = `INSERT INTO chain_keys SELECT $1, $2, $3
  WHERE NOT EXISTS (SELECT 1 FROM erasures WHERE chain = $1) ON CONFLICT DO NOTHING`
const ERASE = 'INSERT INTO erasures VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING'

/** Opens the file, and makes it unless it must exist. Throws RecordStoreUnavailable. */
export function openChainKeysFile(path: string, must?: 'exist'): ChainKeysPlace {
  const database = openSqliteFile(path, CHAIN_KEYS, must)
  // A destroyed key must not stay readable in the file.
  database.exec('PRAGMA secure_delete = ON')
  const rows = openSqliteRows(database, RecordStoreUnavailable)
  const columns = 'SELECT chain, key_id, wrapped FROM chain_keys'
  /** Runs a statement with each row of values, all in one transaction. */
  const atOnce = (...statements: readonly (readonly [string, readonly (readonly unknown[])[]])[]) =>
    guardedNow(() =>
      runAtOnce(
        database,
        statements.flatMap(([text, each]) => each.map((values) => ({ text, values }))),
      ),
    )
  /** Nothing stays readable in the write-ahead log either. */
  const purge = (): void => guardedNow(() => database.exec('PRAGMA wal_checkpoint(TRUNCATE)'))
  const erasures = async () =>
    (
      await rows<ErasureRow>('SELECT chain, at, actor, reason FROM erasures ORDER BY at, chain')
    ).map(erasureOfRow)
  const copy = async (): Promise<ChainKeysCopy> => {
    database.exec('BEGIN')
    // Both are read when they are asked for: at one moment.
    const reading = Promise.all([rows<WrappedKey>(`${columns} ORDER BY chain`), erasures()])
    database.exec('COMMIT')
    const [keys, destroyed] = await reading
    return { keys, erasures: destroyed }
  }
  return {
    find: async (chains) => {
      const found = chains.map((chain) => rows<WrappedKey>(`${columns} WHERE chain = $1`, [chain]))
      return (await Promise.all(found)).flat()
    },
    findOthers: async (header) =>
      rows<WrappedKey>(`${columns} WHERE substr(wrapped, 1, length($1)) <> $1`, [header]),
    add: async (keys) => atOnce([ADD, keys]),
    rewrap: async (keys) => {
      const rewrapped = keys.map(([, keyId, wrapped]) => [wrapped, keyId])
      atOnce(['UPDATE chain_keys SET wrapped = $1 WHERE key_id = $2', rewrapped])
      purge()
    },
    erasures,
    destroy: async (erasure) => {
      const row = rowOfErasure(erasure)
      atOnce([ERASE, [row]], ['DELETE FROM chain_keys WHERE chain = $1', [[row[0]]]])
      purge()
    },
    copy,
    fill: async ({ erasures: others, keys }) => {
      requireEmpty(await copy())
      const own = [[PLACE_KEY_CHAIN]]
      atOnce(
        ['DELETE FROM chain_keys WHERE chain = $1', own],
        // First: what was erased gets no key.
        [ERASE, others.map(rowOfErasure)],
        [ADD, keys],
      )
    },
    openProbe: (onProblem) => openDiskProbe(path, onProblem).trouble,
    stopping: () => undefined,
    close: async () => {
      if (database.isOpen) database.close()
    },
  }
}

/** The keys in a file. */
export async function openFileKeys(path: string, ring: KeyRing): Promise<ChainKeys> {
  const place = openChainKeysFile(path)
  try {
    return await openChainKeys(place, ring)
  } catch (error) {
    await place.close()
    throw error
  }
}

/** How many chains a copy has the keys of. */
const countKeys = ({ keys }: ChainKeysCopy): number =>
  keys.filter(([chain]) => chain !== PLACE_KEY_CHAIN).length

/** Copies the keys of a place into a new file; the newest copy alone opens everything. Rejects with RecordStoreUnavailable. */
export async function backupChainKeys(place: ChainKeysPlace, targetPath: string): Promise<number> {
  if (existsSync(targetPath))
    throw new RecordStoreUnavailable(`${targetPath} exists already; a backup overwrites nothing`)
  const copied = await place.copy()
  try {
    const target = openChainKeysFile(targetPath)
    try {
      await target.fill(copied)
    } finally {
      await target.close()
    }
    return countKeys(copied)
  } catch (error) {
    // It would block the next one, and could pass for a backup.
    for (const end of ['', '-wal', '-shm']) rmSync(targetPath + end, { force: true })
    throw new RecordStoreUnavailable(`${targetPath} could not be written: ${errorMessage(error)}`, {
      cause: error,
    })
  }
}

/** Fills an empty place from a copy, which stays as it is. Rejects with RecordStoreUnavailable. */
export async function restoreChainKeys(place: ChainKeysPlace, sourcePath: string): Promise<number> {
  const source = openChainKeysFile(sourcePath, 'exist')
  try {
    const copied = await source.copy()
    await place.fill(copied)
    return countKeys(copied)
  } finally {
    await source.close()
  }
}
