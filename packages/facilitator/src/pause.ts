import type { Clock } from '@tallystick/service-kit'

/** Waits on the injected clock. */
export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve)
  })
}
