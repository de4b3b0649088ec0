import type { PaymentScheme } from './payment-scheme.ts'

/** The same scheme; the time that each verification takes, its failure too, is heard in seconds. */
export function timedScheme(
  scheme: PaymentScheme,
  watch: { readonly nowMs: () => number; readonly hear: (seconds: number) => void },
): PaymentScheme {
  return {
    ...scheme,
    async verify(payload, requirement) {
      const startedMs = watch.nowMs()
      try {
        return await scheme.verify(payload, requirement)
      } finally {
        watch.hear((watch.nowMs() - startedMs) / 1_000)
      }
    },
  }
}
