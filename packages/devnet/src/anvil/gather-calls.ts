/** Calls that share a message: as many as the relay takes in a batch; an answer is read whole. */
const GATHERED_CALLS_MAX = 100

type Waiting<Call, Answer> = {
  readonly call: Call
  readonly settle: PromiseWithResolvers<Answer>
}

/**
 * Gathers the calls of one moment, such as the reads of one batch at the edge, and hands them to `send` together, which
 * gives one answer for each, in the same order: most of what a read costs is its message. Nobody waits longer for it
 * than until the code that runs now has ended.
 */
export function gatherCalls<Call, Answer>(
  send: (calls: readonly Call[]) => Promise<readonly Answer[]>,
): (call: Call) => Promise<Answer> {
  let waiting: Waiting<Call, Answer>[] = []

  async function leave(): Promise<void> {
    const sent = waiting
    waiting = []
    if (sent.length === 0) return
    try {
      const answers = await send(sent.map(({ call }) => call))
      for (const [index, answer] of answers.entries()) sent[index]?.settle.resolve(answer)
    } catch (cause) {
      for (const { settle } of sent) settle.reject(cause)
    }
  }

  return (call) => {
    const settle = Promise.withResolvers<Answer>()
    waiting.push({ call, settle })
    if (waiting.length === 1) queueMicrotask(() => void leave())
    if (waiting.length >= GATHERED_CALLS_MAX) void leave()
    return settle.promise
  }
}
