import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'

/** An Ed25519 seed, bytes. */
const SEED_BYTES = 32

const isAbsent = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'

function readSeed(path: string): Uint8Array | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
  const seed = Buffer.from(text, 'base64')
  if (seed.length !== SEED_BYTES || seed.toString('base64') !== text)
    throw new Error(`expected ${SEED_BYTES} bytes in base64`)
  return seed
}

function makeSeed(path: string): Uint8Array {
  const seed = randomBytes(SEED_BYTES)
  const file = openSync(path, 'wx', 0o600)
  writeSync(file, `${seed.toString('base64')}\n`)
  fsyncSync(file)
  closeSync(file)
  return seed
}

/**
 * The seed that signs this ledger's checkpoints, kept beside the database (base64, mode 0600) and made at the first
 * start. Throws GradingStoreUnavailable where that file cannot be read, written or understood.
 */
export function loadCheckpointSeed(databasePath: string): Uint8Array {
  const path = `${databasePath}.checkpoint-key`
  try {
    return readSeed(path) ?? makeSeed(path)
  } catch (error) {
    throw new GradingStoreUnavailable(`${path} is not usable as a checkpoint key`, { cause: error })
  }
}
