import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import { storePaths } from './store-paths.ts'
import { PRIVATE_FILE_MODE } from './store-private-file.ts'

/** An Ed25519 seed, bytes. */
const SEED_BYTES = 32

/**
 * The seed that signs this store's checkpoints: the configured one, else the one kept beside the database (base64, mode
 * 0600), made at the first start. Throws RecordStoreUnavailable where that file cannot be read, written or understood.
 */
export function loadCheckpointSeed(options: {
  readonly databasePath: string
  readonly configured?: Uint8Array | undefined
}): Uint8Array {
  if (options.configured !== undefined) return options.configured
  const path = storePaths(options.databasePath).checkpointKey
  try {
    return readSeed(path) ?? makeSeed(path)
  } catch (error) {
    throw new RecordStoreUnavailable(`${path} is not usable as a checkpoint key`, { cause: error })
  }
}

function readSeed(path: string): Uint8Array | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  const seed = Buffer.from(text, 'base64')
  if (seed.length !== SEED_BYTES || seed.toString('base64') !== text)
    throw new Error(`expected ${SEED_BYTES} bytes in base64`)
  return seed
}

function makeSeed(path: string): Uint8Array {
  const seed = randomBytes(SEED_BYTES)
  const file = openSync(path, 'wx', PRIVATE_FILE_MODE)
  writeSync(file, `${seed.toString('base64')}\n`)
  fsyncSync(file)
  closeSync(file)
  return seed
}
