import { closeSync, existsSync, openSync } from 'node:fs'

/** What people may do with a store's files: its owner reads and writes, nobody else. */
export const PRIVATE_FILE_MODE = 0o600

/**
 * Makes an empty file for its owner alone where there is none; SQLite's files beside it take its mode over. A file that is
 * there is not touched: closing a second descriptor of it would end every lock that this process has on it (POSIX).
 */
export function makePrivateFile(path: string): void {
  if (existsSync(path)) return
  closeSync(openSync(path, 'ax', PRIVATE_FILE_MODE))
}
