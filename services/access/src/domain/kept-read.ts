import type { Clock } from '@tallystick/service-kit'

/** A read that callers share. */
export type KeptRead<Value> = {
  /** What was read at most `keptMs` ago, or a new read shared by all who ask meanwhile. Rejects as the read does. */
  (): Promise<Value>
  /** Call it after a write: the next read is a new one, and one under way is not kept. */
  readonly forget: () => void
}

/** Keeps a read for `keptMs`, counted from the request and judged when it is asked for. A failure is not kept. */
export function keptRead<Value>(options: {
  readonly clock: Pick<Clock, 'unixMs'>
  readonly keptMs: number | (() => number)
  readonly read: () => Promise<Value>
}): KeptRead<Value> {
  const { clock, read } = options
  const keptMs = (): number =>
    typeof options.keptMs === 'number' ? options.keptMs : options.keptMs()
  let last: { readonly askedAtMs: number; readonly value: Promise<Value> } | undefined
  const ask = (): Promise<Value> => {
    const askedAtMs = clock.unixMs()
    // If the clock was set back, the age is unknown.
    const ageMs = last === undefined ? Number.NaN : askedAtMs - last.askedAtMs
    if (last !== undefined && ageMs >= 0 && ageMs < keptMs()) return last.value
    const entry = { askedAtMs, value: read() }
    last = entry
    entry.value.catch(() => {
      if (last === entry) last = undefined
    })
    return entry.value
  }
  return Object.assign(ask, {
    forget: () => {
      last = undefined
    },
  })
}
