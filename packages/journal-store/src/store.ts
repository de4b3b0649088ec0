/**
 * The port of a store, which every engine implements natively: append-only journals and the service's own rows, written in
 * groups of one commit. A group is read, decided, written, and only then adopted: nothing is seen before its COMMIT, and a
 * group that fails leaves nothing to bring back. An engine must pass the suite in store.contract.ts.
 */

/**
 * `synced` is on the disk when it resolves. `relaxed` survives the end of the process at once, and a loss of power once the
 * next synced write is on the disk: for what may be lost, and must not cost an fsync.
 */
export type Durability = 'synced' | 'relaxed'

/** Rows of a statement as arrays; `$1` stands for a value, and a table's name has no schema. */
export type Rows = <Row extends readonly unknown[]>(
  text: string,
  values?: readonly unknown[],
) => Promise<readonly Row[]>

export type Statement = { readonly text: string; readonly values: readonly unknown[] }

/** The committed entries, in order, as the leaves of an RFC 9162 tree. */
export type Journal = {
  readonly size: number
  /** RFC 9162 root of them, 32 bytes. */
  rootHash(): Uint8Array
  /** Root of the first `size` entries. Rejects with a RangeError for a size beyond the journal's. */
  rootAt(size: number): Promise<Uint8Array>
  /**
   * RFC 9162 §2.1.3 inclusion proof of an entry in the tree of the first `size`, nearest first. Rejects with a RangeError for
   * an entry that is not below that size, or a size beyond the journal's.
   */
  inclusionProof(index: number, size: number): Promise<readonly Uint8Array[]>
  /**
   * RFC 9162 §2.1.4 proof that the first `oldSize` entries are a prefix of the first `size`; empty from 0 and for the same size.
   * Rejects with a RangeError for an old size beyond the size, or a size beyond the journal's.
   */
  consistencyProof(oldSize: number, size: number): Promise<readonly Uint8Array[]>
  /** Its head as it is now, as a signed C2SP checkpoint. */
  checkpoint(): string
  /** The public key that checks those checkpoints, `name+id+base64`. */
  readonly verifierKey: string
}

/** A cell of an entry's row. */
export type Cell = string | number | bigint | Uint8Array | null

/**
 * One write runs with this, and only while it runs. It reads at once and changes later: what it appends, runs and remembers
 * takes effect when it has returned, so a write that throws leaves nothing to undo. It awaits nothing but this.
 */
export type Tx<Name extends string, Memory> = {
  /** The group has read this for all its writes, as the writes before this one left it. It is changed by `remember` alone. */
  readonly memory: Memory
  /** Reads what is committed, without what this group changes: for rows that no other write of a group may change. */
  readonly rows: Rows
  /** Entries of a journal, with those of the group so far. */
  readonly size: (name: Name) => number
  /** Appends an entry: its leaf hash (32 bytes) and the cells of its row. Returns its index, from 0. */
  readonly append: (name: Name, leafHash: Uint8Array, cells: readonly Cell[]) => number
  /** Runs a statement with the commit. If it is refused, this write fails, and no other. */
  readonly run: (text: string, values: readonly unknown[]) => void
  /** Changes memory. */
  readonly remember: (change: () => void) => void
}

/** A service reads this for its writes, and keeps of them what it says here. */
export type GroupMemory<Name extends string, Memory, Needs> = {
  /** Reads at once what all writes of a group need to know, while nobody else appends. */
  read(rows: Rows, needs: readonly Needs[]): Promise<Memory> | Memory
  /** The statements that store what the writes changed; they run before the entries. `sizes` are the journals' behind the group. */
  save(memory: Memory, sizes: Readonly<Record<Name, number>>): readonly Statement[]
  /** Called behind the COMMIT, before the group's writes resolve. */
  adopt?(memory: Memory, sizes: Readonly<Record<Name, number>>): void
}

/** Journals by name, and rows. */
export type StoreReader<Name extends string> = {
  readonly journals: Readonly<Record<Name, Journal>>
  /** Rows of one statement, with everything that a committed head counts. */
  readonly rows: Rows
  /** Closes it. A store commits waiting writes first, and leaves the checkpoint files as new as the journals. */
  close(): Promise<void>
}

/** A store. Failures of disk, lock or database are the service's own error, which its kind names. */
export type Store<Name extends string, Memory, Needs> = StoreReader<Name> & {
  /**
   * Resolves with the result of the run once it is on the disk, in one commit with all writes that wait. `needs` tells the
   * service's memory what to read for it. A run that throws, or takes over 750 ms to decide, rejects alone. It may happen more
   * than once, and must change nothing but its transaction.
   */
  write<Result>(
    run: (tx: Tx<Name, Memory>) => Promise<Result> | Result,
    needs?: Needs,
  ): Promise<Result>
  /** Runs a statement by itself, `relaxed`. */
  note(text: string, values: readonly unknown[]): Promise<void>
  /** Brings the heads up to date with what other processes committed. */
  catchUp(): Promise<void>
  /** Calls the listener when journals have grown, whoever wrote; what it throws goes to `onProblem`. Returns what stops it. */
  onGrown(listener: () => void): () => void
}

/** A write decided for longer than it may. */
export class WriteTooSlow extends Error {
  override readonly name = 'WriteTooSlow'
}
