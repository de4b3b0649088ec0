import type { Ledger } from './ledger/ledger.ts'
import type { Scheduler } from './ledger/scheduler.ts'

/**
 * Moves ledger time forward by `seconds`, stopping at the second of every schedule on the way to run it, so that what an
 * execution schedules anew runs as well. Timers that fall due fire at each stop. Ends with a block at the new time.
 */
export async function travel(
  ledger: Ledger,
  options: { scheduler: Scheduler; seconds: number },
): Promise<void> {
  const { scheduler } = options
  const targetMs = ledger.clock.unixMs() + options.seconds * 1000
  for (;;) {
    const next = await scheduler.nextSecond()
    if (next === undefined || next * 1000 > targetMs) break
    ledger.clock.travelTo(next * 1000)
    await scheduler.runDue()
  }
  ledger.clock.travelTo(targetMs)
  await scheduler.runDue()
  await ledger.queue.run(() => ledger.evm.mine(ledger.clock.nextTimestamp()))
}
