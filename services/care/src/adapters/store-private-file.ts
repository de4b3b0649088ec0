import { closeSync, openSync } from 'node:fs'

/** What people may do with a store's files: its owner reads and writes, nobody else. */
export const PRIVATE_FILE_MODE = 0o600

/** Makes an empty file for its owner alone where there is none; SQLite's files beside it take its mode over. */
export function makePrivateFile(path: string): void {
  closeSync(openSync(path, 'a', PRIVATE_FILE_MODE))
}
