// What befalls a cluster: processes that are killed in turn, processes that are stopped and woken, and primaries that fail.
import { setTimeout as pause } from 'node:timers/promises'

const PROCESSES = 3
/** Within this a client has found another process for its stream, milliseconds. */
const FOUND_AGAIN_MS = 5_000

/** Equal processes of a service. */
type Killable = {
  readonly name: string
  signal(at: number, signal: 'SIGSTOP' | 'SIGCONT'): void
  /** One dies, and its successor begins. */
  killAndRestart(at: number): Promise<void>
}

/** Told of each fault as it begins. */
type OnFault = (what: string) => Promise<void>

export function createFaults(services: readonly Killable[], onFault: OnFault) {
  const stopped = new Set<string>()
  const restarting: Promise<void>[] = []
  let isAlone = false
  const faultName = ({ name }: Killable, at: number): string => `${name} ${at}`
  return {
    /** Kills one process after another, of one service after the other; ends once all are back. */
    async killInTurn({
      everyMs,
      ended,
    }: {
      readonly everyMs: number
      readonly ended: AbortSignal
    }): Promise<number> {
      for (let turn = 0; ; turn += 1) {
        await pause(everyMs, undefined, { signal: ended }).catch(() => undefined)
        if (ended.aborted) break
        const service = services[turn % services.length]
        const at = Math.floor(turn / services.length) % PROCESSES
        if (service === undefined || isAlone || stopped.has(faultName(service, at))) continue
        restarting.push(service.killAndRestart(at))
        await onFault(`${faultName(service, at)} killed`)
      }
      await Promise.all(restarting)
      return restarting.length
    },
    /** Nothing else befalls anybody meanwhile, nor shortly before: the official client asks for its stream twice and gives up. */
    async befallAlone(fault: () => Promise<void>): Promise<void> {
      isAlone = true
      await Promise.all(restarting)
      await pause(FOUND_AGAIN_MS)
      await fault()
      isAlone = false
    },
    /** The same of all processes at once. */
    async stopAllAndWake(ms: number): Promise<void> {
      const all = services.flatMap((service) =>
        Array.from({ length: PROCESSES }, (_, at) => ({
          service,
          at,
          name: faultName(service, at),
        })),
      )
      for (const { name } of all) stopped.add(name)
      await Promise.all(restarting)
      for (const { at, service } of all) service.signal(at, 'SIGSTOP')
      await pause(ms)
      for (const { at, service } of all) service.signal(at, 'SIGCONT')
      stopped.clear()
      await onFault('all processes woken')
    },
    /** It says nothing for so long, and then goes on where it was. */
    async stopAndWake(service: Killable, { at, ms }: { readonly at: number; readonly ms: number }) {
      stopped.add(faultName(service, at))
      service.signal(at, 'SIGSTOP')
      const stoppedMs = Date.now()
      await onFault(`${faultName(service, at)} stopped`)
      await pause(Math.max(0, stoppedMs + ms - Date.now()))
      service.signal(at, 'SIGCONT')
      stopped.delete(faultName(service, at))
      await onFault(`${faultName(service, at)} woken`)
      return stoppedMs
    },
  }
}
