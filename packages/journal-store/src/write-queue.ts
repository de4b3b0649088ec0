/**
 * Group commit: writes that wait share a transaction and its fsync. A group gathers while each iteration of the event loop adds
 * writes to it, so a lone write waits for one iteration.
 */

import type { Durability, Tx } from './store.ts'
import type { UnavailableError } from './unavailable.ts'

/** Writes that may wait. A request or a slice of an import holds each of them, so this is far above what sockets allow. */
const WAITING_WRITES_MAX = 20_000

/** The most iterations that a group gathers for, some 10 ms at a request or two each; even endless writers get answers. */
const GATHERING_ITERATIONS_MAX = 64

/** A waiting write. */
export type Write<Name extends string, Memory, Asked> = {
  readonly run: (tx: Tx<Name, Memory>) => unknown
  readonly asked: Asked | undefined
  readonly durability: Durability
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
  /** Its caller has been answered: it must not run again when its group does. */
  isRejected: boolean
  /** What the run returned last. */
  result: unknown
}

/** `relaxed` if no write of a group needs to be on the disk. */
export const chooseDurability = (
  writes: readonly { readonly durability: Durability }[],
): Durability => (writes.every(({ durability }) => durability === 'relaxed') ? 'relaxed' : 'synced')

const nextIteration = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** Opens a queue in front of `commit`, which settles each write of a group, and never rejects. */
export function openWriteQueue<Name extends string, Memory, Asked>(options: {
  /** Most writes in one group. */
  readonly writesMax: number
  readonly Unavailable: UnavailableError
  readonly commit: (writes: readonly Write<Name, Memory, Asked>[]) => Promise<void>
}) {
  const { commit, Unavailable, writesMax } = options
  const waiting: Write<Name, Memory, Asked>[] = []
  let working: Promise<void> | undefined
  let isClosed = false

  async function gather(): Promise<void> {
    let seen = waiting.length
    for (let left = GATHERING_ITERATIONS_MAX; left > 0; left -= 1) {
      await nextIteration()
      const isGrowing = waiting.length > seen && waiting.length < writesMax
      // A write that needs no fsync waits for no others.
      if (isClosed || !isGrowing || chooseDurability(waiting) === 'relaxed') return
      seen = waiting.length
    }
  }

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      await gather()
      await commit(waiting.splice(0, writesMax))
    }
    working = undefined
  }

  return {
    add: <Result>(
      run: (tx: Tx<Name, Memory>) => Promise<Result> | Result,
      {
        asked,
        durability = 'synced',
      }: { readonly asked?: Asked; readonly durability?: Durability },
    ): Promise<Result> =>
      new Promise<Result>((resolve, reject) => {
        if (isClosed || waiting.length >= WAITING_WRITES_MAX) {
          reject(new Unavailable(isClosed ? 'the store is closed' : 'too many writes are waiting'))
          return
        }
        const write: Write<Name, Memory, Asked> = {
          run,
          asked,
          durability,
          resolve: () => resolve(write.result as Result),
          reject: (error) => {
            write.isRejected = true
            reject(error)
          },
          isRejected: false,
          result: undefined,
        }
        waiting.push(write)
        working ??= work()
      }),
    /** Commits what waits, and takes no more. */
    close: async (): Promise<void> => {
      isClosed = true
      await working
    },
  }
}
