import type { Clock } from '@tallystick/service-kit'

/** Longest that a repeated request waits for its first answer's subscribers: telling sessions takes milliseconds. */
export const REPEAT_WAIT_MS = 2_000

/** Signed requests whose write is done but whose subscribers are not yet counted. */
export type RepeatedRequests = {
  /** A write with this MAC was accepted. */
  begin(mac: string): void
  /** Its subscribers are known. */
  settle(mac: string): void
  /** Resolves when they are known, at the latest after `REPEAT_WAIT_MS`; at once for any other MAC. */
  told(mac: string): Promise<void>
}

/** Lets a repeated request wait for the first one's answer, so that both are the same. */
export function createRepeatedRequests(clock: Clock): RepeatedRequests {
  const open = new Map<string, { readonly done: Promise<void>; readonly settle: () => void }>()
  return {
    begin: (mac) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const cancel = clock.after(REPEAT_WAIT_MS, () => open.get(mac)?.settle())
      const settle = (): void => {
        cancel()
        open.delete(mac)
        resolve()
      }
      open.set(mac, { done: promise, settle })
    },
    settle: (mac) => open.get(mac)?.settle(),
    told: async (mac) => open.get(mac)?.done,
  }
}
