import type { Clock } from './clock.ts'

/** One thing that the service cannot work without, or works badly without. */
export type ReadinessFinding =
  | { readonly kind: 'ready'; readonly details?: Readonly<Record<string, unknown>> | undefined }
  /** `reason` is public: a snake_case code. */
  | {
      readonly kind: 'not-ready'
      readonly reason: string
      readonly details?: Readonly<Record<string, unknown>> | undefined
    }

/** Looks at one dependency; a throw counts as not ready, its text stays inside. */
export type ReadinessCheck = () => Promise<ReadinessFinding>

type ReadinessReport = {
  readonly ready: boolean
  readonly checks: Readonly<Record<string, ReadinessFinding>>
}

/** A check that has not answered by then is not ready: probes give up after a few seconds themselves. */
const CHECK_LIMIT_MS = 3_000

function withLimit(check: ReadinessCheck, clock: Clock): Promise<ReadinessFinding> {
  return new Promise((resolve) => {
    const cancel = clock.after(CHECK_LIMIT_MS, () =>
      resolve({ kind: 'not-ready', reason: 'check_timed_out' }),
    )
    const finish = (finding: ReadinessFinding): void => {
      cancel()
      resolve(finding)
    }
    check().then(finish, () => finish({ kind: 'not-ready', reason: 'check_failed' }))
  })
}

/** Returns a function that runs all checks side by side; calls that overlap share one run, so that polling costs little. */
export function readinessReporter(
  checks: Readonly<Record<string, ReadinessCheck>>,
  clock: Clock,
): () => Promise<ReadinessReport> {
  let running: Promise<ReadinessReport> | undefined
  const run = async (): Promise<ReadinessReport> => {
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
