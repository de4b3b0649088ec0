// The record store over either engine: this file joins its halves, record-writer.ts and record-reads.ts, with verification,
// proofs and exports. The engines open their stores in sqlite-record-store.ts and postgres-record-store.ts.
import type { KeyRing } from '@tallystick/hashchain'
import type { RecordJournal, RecordStore } from '../../domain/record-store.ts'
import type { Audience } from '../../wire/audience.ts'
import { type ChainKeys, type ChainSeals, CLEAR_SEALS } from '../keys/chain-keys.ts'
import { openFileKeys } from '../keys/chain-keys-file.ts'
import { chainKeysPath } from '../schemas/sqlite-record-database.ts'
import { createBehindReads } from './record-behind.ts'
import { exportRecordLines } from './record-export.ts'
import { importRecordLines, isHalfImported } from './record-import.ts'
import { createChainList, createRecordReads } from './record-reads.ts'
import type { RecordSource } from './record-sql.ts'
import { verifyAdded, verifyChains } from './record-verify.ts'
import { createRecordWriter, type WriterOptions, type WrittenStore } from './record-writer.ts'

/** What an engine has open to read. */
type ReadEngine = {
  readonly source: RecordSource
  readonly journals: Readonly<Record<Audience, RecordJournal>>
  close(): void | Promise<void>
}

/** The same to write. */
type RecordEngine = ReadEngine &
  WrittenStore & {
    /** What versions get besides what was asked. */
    readonly writing: Omit<WriterOptions, 'seals'>
    outsideMark(): string | undefined
    catchUp(): Promise<void>
    onGrown(listener: () => void): () => void
  }

/** What opens stored bodies. */
export type KeptKeys = {
  readonly keyRing?: KeyRing | undefined
  readonly databasePath: string
  /** The file of the keys of chains; by default beside the database. */
  readonly chainKeysPath?: string | undefined
  /** The keys of chains, opened elsewhere; they are closed with the store. */
  readonly keys?: ChainKeys | undefined
}

/** Opens a store with the keys of its chains, undefined for one in the clear; closes the keys if that fails. */
export async function openWithKeys<Opened>(
  { chainKeysPath: path, databasePath, keyRing, keys: opened }: KeptKeys,
  open: (keys: ChainKeys | undefined) => Promise<Opened>,
): Promise<Opened> {
  const keys =
    opened ?? (keyRing && (await openFileKeys(path ?? chainKeysPath(databasePath), keyRing)))
  try {
    return await open(keys)
  } catch (error) {
    await keys?.close()
    throw error
  }
}

const chooseSeals = (keys: ChainKeys | undefined): ChainSeals => keys ?? CLEAR_SEALS

/** Where verification and export read. */
const openSource = (engine: ReadEngine, keys: ChainKeys | undefined) => ({
  ...engine,
  seals: chooseSeals(keys),
})

/** What can be read beside a running service. */
export type RecordReader = Pick<RecordStore, 'verify' | 'exportLines' | 'journals' | 'close'>

export function createRecordReader(engine: ReadEngine, keys: ChainKeys | undefined): RecordReader {
  const source = openSource(engine, keys)
  return {
    verify: (query) => verifyChains(source, query),
    exportLines: (query) => exportRecordLines(source, query),
    journals: engine.journals,
    close: async () => {
      await engine.close()
      await keys?.close()
    },
  }
}

export function createRecordStore(engine: RecordEngine, keys: ChainKeys | undefined): RecordStore {
  const source = openSource(engine, keys)
  return {
    ...createRecordWriter(engine, { ...engine.writing, seals: source.seals }),
    ...createRecordReads(engine.source, source.seals),
    ...createBehindReads(engine.source, { seals: source.seals, journals: engine.journals }),
    ...createRecordReader(engine, keys),
    importLines: (query) => importRecordLines({ ...source, ...engine }, query),
    isHalfImported: () => isHalfImported(engine.source),
    verifyAdded: (query) => verifyAdded(source, query),
    ...createChainList(engine.source),
    outsideMark: () => engine.outsideMark(),
    catchUp: () => engine.catchUp(),
    onGrown: (listener) => engine.onGrown(listener),
    sealKeyId: keys?.ringKeyId,
  }
}
