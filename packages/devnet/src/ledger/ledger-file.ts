import type { AccountKey } from './account-key.ts'

/** A file; undefined contents are deleted ones. */
export type LedgerFile = {
  contents: Buffer | undefined
  keys: readonly AccountKey[]
  memo: string
}
