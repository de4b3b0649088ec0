/** Size and root of a journal at one moment. */
export type TreeHead = {
  readonly size: number
  /** RFC 9162 Merkle tree root, 32 bytes. */
  readonly rootHash: Uint8Array
}

/** Where a journal keeps its leaves; services bring SQLite, tests memory. */
export type JournalStore = {
  /** Appends one entry (RFC 8785 JSON, UTF-8) and its leaf hash; returns its index from 0. Durable when it resolves. */
  append(entry: Uint8Array, leafHash: Uint8Array): Promise<number>
  size(): Promise<number>
  entry(index: number): Promise<Uint8Array | undefined>
  /** Leaf hashes `from` (inclusive) to `to` (exclusive), in order. */
  leafHashes(range: { readonly from: number; readonly to: number }): Promise<readonly Uint8Array[]>
}

/** Signs checkpoints as C2SP signed notes, Ed25519. */
export type CheckpointSigner = {
  /** Key name of the note, e.g. the journal's origin. */
  readonly keyName: string
  sign(text: string): Uint8Array
}
