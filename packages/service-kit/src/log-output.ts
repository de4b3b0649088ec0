import type { Writable } from 'node:stream'
import { type Clock, pause } from './clock.ts'

/** Kept for a reader who is behind, some 4,000 lines: what a busy service writes while a log collector restarts. */
const WAITING_CHARS_MAX = 1_048_576

export type LogOutput = {
  write(line: string): void
  /** Lines that nobody will read, since the start. */
  droppedCount(): number
}

/**
 * Where a process's log goes: written at once while somebody reads, kept while the reader is behind, dropped and counted
 * once too much waits (S13). `onReaderBack` is then called with the number of lines that are missing at this place.
 *
 * The stream is `process.stdout`, which Node writes synchronously to a file and to a pipe with room, and never waits for.
 * `pino.destination` on a pipe that is full stops the process (synchronous) or one of its few threads, and with it the
 * exit (asynchronous).
 */
export function openLogOutput(
  stream: Writable,
  onReaderBack: (droppedLines: number) => void,
): LogOutput {
  let droppedCount = 0
  /** Lines dropped since the reader last kept up. */
  let missing = 0
  // A reader who has gone is nobody who reads: not an error of the service.
  stream.on('error', () => undefined)
  stream.on('drain', () => {
    const lines = missing
    missing = 0
    if (lines > 0) onReaderBack(lines)
  })
  return {
    write(line) {
      // Dropped only while a `drain` is to come, which ends it: a line that is too long by itself is written.
      const isFull = stream.writableLength + line.length > WAITING_CHARS_MAX
      if (missing > 0 || (isFull && stream.writableNeedDrain)) {
        missing += 1
        droppedCount += 1
        return
      }
      stream.write(line, (error) => {
        if (error) droppedCount += 1
      })
    },
    droppedCount: () => droppedCount,
  }
}

/** A reader who reads at all takes a megabyte in less; an exit waits no longer for one who does not. */
const LAST_LINES_MS = 300

/** Resolves once what was written to the streams is with their readers, or soon after if nobody reads. */
export async function lastLinesWritten(streams: readonly Writable[], clock: Clock): Promise<void> {
  const written = streams.map(
    (stream) => new Promise<void>((resolve) => void stream.write('', () => resolve())),
  )
  await Promise.race([Promise.all(written), pause(clock, LAST_LINES_MS)])
}
