import { type DestinationStream, type Logger, pino } from 'pino'
import pretty from 'pino-pretty'

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
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => ({ ...(redacted(fields) as Record<string, unknown>) }),
      },
    },
    destination ??
      pretty({ sync: true, ignore: 'pid,hostname,name', translateTime: 'SYS:HH:MM:ss.l' }),
  )
}
