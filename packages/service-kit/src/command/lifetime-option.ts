import { BadUsage, type CommandCall } from './command-verb.ts'

/** A token that is meant to last longer is a key: the ring of keys is what changes once a year. */
const LIFETIME_SECONDS_MAX = 365 * 86_400

/** The value of `--lifetime-seconds`, 1 to a year; `fallbackSeconds` without it. Throws BadUsage. */
export function lifetimeOption(call: CommandCall, fallbackSeconds: number): number {
  const text = call.text('lifetime-seconds')
  const seconds = text === undefined ? fallbackSeconds : Number(text)
  if (!Number.isSafeInteger(seconds) || seconds < 1 || seconds > LIFETIME_SECONDS_MAX)
    throw new BadUsage('--lifetime-seconds takes a whole number, at most a year.')
  return seconds
}
