/** Files that only their owner may read: keys and password hashes. */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** A file that cannot be used; the message is for the operator and repeats nothing of its content. */
export class PrivateFileUnusable extends Error {
  override readonly name = 'PrivateFileUnusable'
}

const OTHERS = 0o077
const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

/** Its text; undefined if there is none. Throws `PrivateFileUnusable` if others may read it. */
export function readPrivateFile(path: string): string | undefined {
  try {
    if ((statSync(path).mode & OTHERS) !== 0)
      throw new PrivateFileUnusable(`${path} can be read by others: chmod 600 ${path}`)
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if (isMissing(cause)) return undefined
    if (cause instanceof PrivateFileUnusable) throw cause
    throw new PrivateFileUnusable(`${path} cannot be read`, { cause })
  }
}

/** Replaces it as a whole, mode 0600: a concurrent reader sees the old text or the new one. */
export function writePrivateFile(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const next = `${path}.${process.pid}`
    writeFileSync(next, text, { mode: 0o600, flag: 'wx', flush: true })
    renameSync(next, path)
  } catch (cause) {
    throw new PrivateFileUnusable(`${path} cannot be written`, { cause })
  }
}
