// Writers that go on while servers fail, for the tests.
import type { PostgresNotes } from './notes-postgres.fixture.ts'
import { NotesUnavailable } from './notes-store.fixture.ts'
import { appendText } from './store.contract.ts'

/** A slow machine may find no server in time: what is refused then was not acknowledged, and the writer goes on. */
const isAcknowledged = (writing: Promise<number>): Promise<boolean> =>
  writing.then(
    () => true,
    (error: unknown) => {
      if (error instanceof NotesUnavailable) return false
      throw error
    },
  )

/** Starts so many writers, half of them at each store; each writes one text after another. */
export function startWriters(
  count: number,
  stores: readonly [first: PostgresNotes, second: PostgresNotes],
) {
  const acknowledged: string[] = []
  const over = new AbortController()
  const write = async (store: PostgresNotes, writer: number): Promise<void> => {
    for (let number = 0; !over.signal.aborted; number += 1) {
      const text = `${writer} ${number}`
      if (await isAcknowledged(appendText(store, text))) acknowledged.push(text)
    }
  }
  const writing = Array.from({ length: count }, (_, writer) =>
    write(stores[writer % 2 === 0 ? 0 : 1], writer),
  )
  return {
    /** Texts, in the order of their answers. */
    acknowledged: acknowledged as readonly string[],
    /** Resolves once the last writer has its answer. */
    end: async (): Promise<void> => {
      over.abort()
      await Promise.all(writing)
    },
  }
}
