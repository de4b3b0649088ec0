/** Logs without secrets, and says where the lines go when nobody reads them (S13). */
import { createRequire } from 'node:module'
import type { Writable } from 'node:stream'
import { type DestinationStream, type Logger, pino } from 'pino'
import type { PinoPretty } from 'pino-pretty'
import { atMost, type Clock } from './clock.ts'
import { traceFields } from './traces.ts'

/** Replaces secret values in a log. */
const CENSOR = '[redacted]'

/** How deep redaction searches a logged object. Nothing we log nests deeper. */
const REDACTION_DEPTH = 5

/** Keys whose values never reach a log: credentials, payment and write signatures, payloads that carry them, record values. */
const REDACTED_KEY =
  /^(authorization|proxy-authorization|cookie|set-cookie|payment-(signature|response)|x-payment|.*signature|.*secret|.*private[-_]?key|.*passphrase|password|token|access_?token|value|previousvalue|transaction_?bytes)$/i

/** Returns a copy without the values of redacted keys; errors and other class instances are left to their serializers. */
export function redacted(value: unknown, depth = REDACTION_DEPTH): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value))
    return depth === 0 ? CENSOR : value.map((item) => redacted(item, depth - 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  if (depth === 0) return CENSOR
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      REDACTED_KEY.test(key) ? CENSOR : redacted(item, depth - 1),
    ]),
  )
}

/** Returns a logger of JSON lines to `destination`; without one, of readable lines on the terminal. */
export function createLogger(options: {
  /** The service's name, on every line. */
  readonly name: string
  readonly level: string
  readonly destination: DestinationStream | undefined
}): Logger {
  const { destination, level, name } = options
  return pino(
    {
      name,
      level,
      timestamp: pino.stdTimeFunctions.isoTime,
      mixin: traceFields,
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => ({ ...(redacted(fields) as Record<string, unknown>) }),
      },
    },
    destination ?? openTerminal(),
  )
}

/** Loads pino-pretty, which nothing but a terminal needs. */
function openTerminal(): DestinationStream {
  const pretty = createRequire(import.meta.url)('pino-pretty') as typeof PinoPretty
  return pretty({ sync: true, ignore: 'pid,hostname,name', translateTime: 'SYS:HH:MM:ss.l' })
}

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
  await atMost(clock, LAST_LINES_MS, Promise.all(written))
}
