import { atMost, type Clock } from './clock.ts'

/** Whether one thing that the service needs is ready. `reason` is public: a snake_case code. */
export type ReadinessFinding = (
  | { readonly kind: 'ready' }
  | { readonly kind: 'not-ready'; readonly reason: string }
) & { readonly details?: Readonly<Record<string, unknown>> | undefined }

/** Checks one dependency. A throw counts as not ready; its text stays internal. */
export type ReadinessCheck = () => Promise<ReadinessFinding>

/** A slower check counts as not ready, since probes give up after a few seconds themselves. */
const CHECK_LIMIT_MS = 3_000

async function withLimit(check: ReadinessCheck, clock: Clock): Promise<ReadinessFinding> {
  try {
    const finding = await atMost(clock, CHECK_LIMIT_MS, check())
    return finding ?? { kind: 'not-ready', reason: 'check_timed_out' }
  } catch {
    return { kind: 'not-ready', reason: 'check_failed' }
  }
}

/** Returns a function that runs all checks concurrently; overlapping calls share one run, so polling costs little. */
export function readinessReporter(checks: Readonly<Record<string, ReadinessCheck>>, clock: Clock) {
  let running: ReturnType<typeof run> | undefined
  const run = async () => {
    const findings = await Promise.all(
      Object.entries(checks).map(
        async ([name, check]) => [name, await withLimit(check, clock)] as const,
      ),
    )
    return {
      ready: findings.every(([, finding]) => finding.kind === 'ready'),
      checks: Object.fromEntries(findings),
    }
  }
  return () => {
    running ??= run().finally(() => {
      running = undefined
    })
    return running
  }
}
