// The ledger's past as suites and restarts need it: snapshots in memory to go back to, and a file that outlives the process.

import { readFileSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import type { Clock } from '@tallystick/service-kit'
import type { Ledger } from './ledger/ledger.ts'
import { restoreState, type StateParts, StateUnreadable, takeState } from './ledger/ledger-state.ts'

/** Snapshots at once: a suite has one or two, and each holds the whole ledger in memory. */
const SNAPSHOTS_MAX = 16

/** How often a changed ledger is written to its file, milliseconds: `kill -9` loses no more. */
const SAVE_MS = 10_000

/** Snapshots of a ledger; the first is its beginning, to which `reset` goes back. */
export async function createSnapshots(parts: StateParts, transfers: { forget(): void }) {
  const { queue } = parts.ledger
  const take = (): Promise<Buffer> => queue.run(() => takeState(parts))
  const restore = async (bytes: Buffer): Promise<void> => {
    await queue.run(() => restoreState(parts, bytes))
    transfers.forget()
  }
  const beginning = await take()
  const snapshots = new Map<string, Buffer>()
  let lastId = 0
  return {
    take,
    restore,
    controls: {
      /** Remembers the ledger as it is now, under the id that is returned. */
      async snapshot(): Promise<string> {
        if (snapshots.size >= SNAPSHOTS_MAX) throw new Error(`there are ${SNAPSHOTS_MAX} snapshots`)
        lastId += 1
        const id = `0x${lastId.toString(16)}`
        snapshots.set(id, await take())
        return id
      },
      /** Goes back to a snapshot, which can be used again; later ones are forgotten. Time does not go back. */
      async revert(id: string): Promise<void> {
        const bytes = snapshots.get(id)
        if (bytes === undefined) throw new Error(`there is no snapshot ${id}`)
        await restore(bytes)
        for (const later of snapshots.keys()) {
          if (Number(later) > Number(id)) snapshots.delete(later)
        }
      },
      /** Goes back to the beginning, before the first change; forgets every snapshot. */
      async reset(): Promise<void> {
        await restore(beginning)
        snapshots.clear()
      },
    },
  }
}

type Snapshots = Pick<Awaited<ReturnType<typeof createSnapshots>>, 'take' | 'restore'>

/**
 * Goes on from a file, if it is there, and writes the ledger to it while it changes and as it ends.
 * @throws StateUnreadable naming the file, or the operating system's error
 */
export async function keepInFile(
  file: string,
  parts: {
    snapshots: Snapshots
    ledger: { evm: Pick<Ledger['evm'], 'newestBlock'> }
    timers: Pick<Clock, 'after'>
  },
) {
  const { snapshots, timers } = parts
  const newestBlock = (): number => parts.ledger.evm.newestBlock()
  await loadFrom(file, snapshots)
  let savedBlock = newestBlock()
  let writing: Promise<void> = Promise.resolve()
  let cancel: (() => void) | undefined

  async function save(): Promise<void> {
    const block = newestBlock()
    if (block === savedBlock) return
    await write(file, await snapshots.take())
    // Not before: what could not be written is tried again.
    savedBlock = block
  }
  const saveLater = (): void => {
    cancel = timers.after(SAVE_MS, () => {
      writing = save().catch((cause: unknown) => {
        process.stderr.write(`devnet: ${file} was not written: ${String(cause)}\n`)
      })
      void writing.then(saveLater)
    })
  }
  saveLater()
  return {
    /** Writes the last state. */
    async end(): Promise<void> {
      await writing
      cancel?.()
      await save()
    },
  }
}

async function loadFrom(file: string, { restore }: Snapshots): Promise<void> {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return
    throw cause
  }
  await restore(bytes).catch((cause: unknown) => {
    throw cause instanceof StateUnreadable
      ? new StateUnreadable(`${file}: ${cause.message}`)
      : cause
  })
}

/** Whole or not at all: a crash leaves the file before. */
async function write(file: string, bytes: Buffer): Promise<void> {
  const fresh = `${file}.new`
  const handle = await open(fresh, 'w')
  try {
    await handle.writeFile(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(fresh, file)
}
