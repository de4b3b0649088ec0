/** Files that only their owner may read: keys and password hashes. */
import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorCode, replaceFileNow } from '@tallystick/journal-store'

/** A file that cannot be used; the message is for the operator and repeats nothing of its content. */
export class PrivateFileUnusable extends Error {
  override readonly name = 'PrivateFileUnusable'
}

const OTHERS = 0o077

/** Its text; undefined if there is none. Throws `PrivateFileUnusable` if others may read it. */
export function readPrivateFile(path: string): string | undefined {
  try {
    if ((statSync(path).mode & OTHERS) !== 0)
      throw new PrivateFileUnusable(`${path} can be read by others: chmod 600 ${path}`)
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if (errorCode(cause) === 'ENOENT') return undefined
    if (cause instanceof PrivateFileUnusable) throw cause
    throw new PrivateFileUnusable(`${path} cannot be read`, { cause })
  }
}

/** Replaces it as a whole, mode 0600: a concurrent reader sees the old text or the new one. */
export function writePrivateFile(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    replaceFileNow(path, text)
  } catch (cause) {
    throw new PrivateFileUnusable(`${path} cannot be written`, { cause })
  }
}
