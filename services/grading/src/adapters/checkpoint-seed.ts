import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { GradingStoreUnavailable } from '../domain/grading-store.ts'

/** An Ed25519 seed, bytes. */
const SEED_BYTES = 32

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

function readSeed(path: string): Uint8Array | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
  const seed = Buffer.from(text, 'base64')
  if (seed.length !== SEED_BYTES || seed.toString('base64') !== text)
    throw new Error(`expected ${SEED_BYTES} bytes in base64`)
  return seed
}

/** Makes the file whole or not at all; where another process was first, its seed is the one. */
function makeSeed(path: string): Uint8Array {
  const draft = `${path}.${randomBytes(8).toString('hex')}`
  const file = openSync(draft, 'wx', 0o600)
  try {
    writeSync(file, `${randomBytes(SEED_BYTES).toString('base64')}\n`)
    fsyncSync(file)
    linkSync(draft, path)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    closeSync(file)
    unlinkSync(draft)
  }
  const seed = readSeed(path)
  if (seed === undefined) throw new Error('it is gone as soon as it is made')
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
