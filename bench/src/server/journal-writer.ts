// A process that writes notes: `journal-writer.ts ENGINE PLACE CHECKPOINTS`. It answers each order of its parent: `write`
// keeps so many writers busy for a while; `hear` tells when entries of others are seen.
import { type JournalEngine, openPostgresNotes, openSqliteNotes } from './journal-notes.ts'

/** What the parent orders. */
export type JournalOrder =
  | { readonly kind: 'write'; readonly writers: number; readonly forMs: number }
  | { readonly kind: 'hear'; readonly entries: number }
  | { readonly kind: 'stop' }

/** Acknowledged appends, or at which nanosecond of the machine's clock each entry was seen. */
export type JournalAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'wrote'; readonly appends: number }
  | { readonly kind: 'heard'; readonly from: number; readonly seenNanos: readonly string[] }

const [engine = 'postgres', place = '', checkpoints = ''] = process.argv.slice(2)
const postgres =
  engine === 'sqlite'
    ? undefined
    : await openPostgresNotes(place, checkpoints, engine as JournalEngine)
const notes = postgres ?? (await openSqliteNotes(place))

const answer = (message: JournalAnswer): void => void process.send?.(message)

async function write(writers: number, forMs: number): Promise<void> {
  const endMs = performance.now() + forMs
  let appends = 0
  const writeAll = async (writer: number): Promise<void> => {
    while (performance.now() < endMs) {
      await notes.append(`${process.pid} ${writer} ${performance.now()}`)
      appends += 1
    }
  }
  await Promise.all(Array.from({ length: writers }, (_, writer) => writeAll(writer)))
  answer({ kind: 'wrote', appends })
}

function hear(entries: number): void {
  if (postgres === undefined) throw new Error('only PostgreSQL tells')
  const from = postgres.size()
  const seenNanos: string[] = []
  const end = postgres.onGrown(() => {
    const now = String(process.hrtime.bigint())
    while (from + seenNanos.length < postgres.size()) seenNanos.push(now)
    if (seenNanos.length < entries) return
    end()
    answer({ kind: 'heard', from, seenNanos })
  })
}

process.on('message', (order: JournalOrder) => {
  switch (order.kind) {
    case 'write':
      write(order.writers, order.forMs).catch((error: unknown) => {
        throw error
      })
      return
    case 'hear':
      hear(order.entries)
      return
    case 'stop':
      void notes.close().then(() => process.disconnect?.())
  }
})
answer({ kind: 'ready' })
