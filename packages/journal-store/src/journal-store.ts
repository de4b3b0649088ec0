/**
 * The port of a journal store, which every engine implements: append-only journals, writes in groups of one commit, and signed
 * checkpoints. The service brings its schema and its folds. An engine must pass the suite in journal-store.contract.ts.
 */

/** A value or its promise: an embedded engine answers at once, one behind a connection later. */
export type Awaitable<Value> = Value | Promise<Value>

/**
 * `synced` is on the disk when it resolves. `relaxed` survives the end of the process at once, and a loss of power once the
 * next synced write is on the disk: for what may be lost, and must not cost an fsync.
 */
export type Durability = 'synced' | 'relaxed'

/** The committed entries, in order, as the leaves of an RFC 9162 tree. */
export type Journal = {
  readonly size: number
  /** RFC 9162 root of them, 32 bytes. */
  rootHash(): Uint8Array
  /** Root of the first `size` entries. */
  rootAt(size: number): Awaitable<Uint8Array>
  /**
   * RFC 9162 §2.1.3 inclusion proof of an entry in the tree of the first `size`, nearest first. Throws a RangeError for an
   * entry that is not below that size, or a size beyond the journal's.
   */
  inclusionProof(index: number, size: number): Awaitable<readonly Uint8Array[]>
  /**
   * RFC 9162 §2.1.4 proof that the first `oldSize` entries are a prefix of the first `size`; empty from 0 and for the same size.
   * Throws a RangeError for an old size beyond the size, or a size beyond the journal's.
   */
  consistencyProof(oldSize: number, size: number): Awaitable<readonly Uint8Array[]>
}

/** A journal inside a write. Its size and root include what the group has appended so far. */
export type WrittenJournal<Cell> = Pick<Journal, 'size' | 'rootHash'> & {
  /** Appends an entry: its leaf hash (32 bytes) and the cells of its row. Returns its index, from 0. */
  append(leafHash: Uint8Array, cells: readonly Cell[]): number
}

/** What a write runs with; an engine may offer more. It is valid only during the write. */
export type WriteTransaction<Name extends string, Cell> = {
  readonly journals: Readonly<Record<Name, WrittenJournal<Cell>>>
}

/** Journals by name, and their signed heads. */
export type JournalReader<Name extends string> = {
  readonly journals: Readonly<Record<Name, Journal>>
  /** A journal's current head, as a signed C2SP checkpoint. */
  checkpoint(name: Name): string
  /** The public key that checks a journal's checkpoints, `name+id+base64`. */
  verifierKey(name: Name): string
  /** Closes it. A store commits waiting writes first, and leaves the checkpoint files as new as the journals. */
  close(): Promise<void>
}

/** Why a write would fail or wait now. */
export type WriteTrouble = {
  /** A snake_case code. */
  readonly reason: string
  /** For the operator; public. */
  readonly sentence: string
}

/** Makes a service's own error, which tells the operator what happened to the store. */
export type UnavailableError = new (message: string, options?: ErrorOptions) => Error

/** The text of whatever was thrown. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
