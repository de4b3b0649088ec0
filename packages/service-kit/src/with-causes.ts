/** More are of no use to a reader, and a chain may be a circle. */
const CAUSES_MAX = 5

/**
 * An operator reads this of a failure, in one line: the sentence, and behind it what caused it, unless it says so itself.
 *
 * @example withCauses('care.db cannot be opened', error) // care.db cannot be opened: ENOSPC: no space left on device, write
 */
export function withCauses(sentence: string, error: Error): string {
  let line = sentence
  let { cause } = error
  for (let depth = 1; depth <= CAUSES_MAX && cause instanceof Error; depth += 1) {
    const { message } = cause
    if (!line.includes(message)) line = `${line}: ${message}`
    cause = cause.cause
  }
  return line.replace(/\s*\n\s*/g, ' ')
}
