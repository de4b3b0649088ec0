/** A process says this of itself to the database again and again, until it ends. */

/** Milliseconds between two heartbeats: with the time to live of a lease, a death is noticed after 8 s at most, and one lost answer harms nobody. */
const BEAT_MS = 2_000

/** Beats once, and from then on regularly; a beat that fails is a problem, and the next one tries again. */
export async function keepBeating(
  beat: () => Promise<void>,
  {
    onProblem,
    pause,
  }: {
    readonly onProblem: (error: unknown) => void
    readonly pause: (ms: number) => Promise<void>
  },
): Promise<{ end(): Promise<void> }> {
  const ended = Promise.withResolvers<void>()
  let isEnded = false
  const tryToBeat = async (): Promise<void> => {
    try {
      await beat()
    } catch (error) {
      if (!isEnded) onProblem(error)
    }
  }
  const loop = async (): Promise<void> => {
    for (;;) {
      await Promise.race([ended.promise, pause(BEAT_MS)])
      if (isEnded) return
      await tryToBeat()
    }
  }
  await tryToBeat()
  const looping = loop()
  return {
    /** Resolves once no beat is under way. */
    end: async () => {
      isEnded = true
      ended.resolve()
      await looping
    },
  }
}
