/**
 * JSON-RPC calls to a node: those made in one turn of the event loop go out together, and while a request is under way the
 * next ones wait for its answer or 2 ms. So a payment's nonce and balance, and those of payments beside it, cost one request.
 */
import { z } from 'zod'
import type { Clock } from '../../clock.ts'
import { fetchJson } from '../../http-json.ts'
import { LedgerUnavailable } from '../payment-scheme.ts'

/** A public node answers in 0.1 to 1 s. */
const TIMEOUT_MS = 5_000

/** A receipt of a batch with hundreds of logs is about 100 kB. */
const ANSWER_BYTES_MAX = 1_048_576

/** Calls in one request; public nodes refuse longer ones. */
const BATCH_MAX = 20

/** Longest wait behind another request: a settlement takes a thousand times as long. */
const LINGER_MS = 2

/** The contract reverted the call; every other error answer is the node's own failure. */
export class CallReverted extends LedgerUnavailable {}

type Answer = {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string } | undefined
}

const answerSchema = z.object({
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
})
const batchSchema = z.array(z.looseObject({ id: z.number() }))

type Call = {
  readonly method: string
  readonly params: readonly unknown[]
  readonly resolve: (answer: Answer) => void
  readonly reject: (cause: LedgerUnavailable) => void
}

/** Calls a node. Throws LedgerUnavailable, and CallReverted if a contract says no. */
export function createJsonRpc(options: { readonly url: string; readonly clock: Clock }) {
  const { clock } = options
  let waiting: Call[] = []
  let underWay = 0

  async function sendCounted(calls: readonly Call[]): Promise<void> {
    underWay += 1
    await send(calls, options)
    underWay -= 1
    flush()
  }

  function flush(): void {
    for (; waiting.length > 0; waiting = waiting.slice(BATCH_MAX))
      void sendCounted(waiting.slice(0, BATCH_MAX))
  }

  function schedule(): void {
    if (underWay === 0) setImmediate(flush)
    else clock.after(LINGER_MS, flush)
  }

  return async <Schema extends z.ZodType>(
    schema: Schema,
    method: string,
    params: readonly unknown[],
  ): Promise<z.output<Schema>> => {
    const { promise, reject, resolve } = Promise.withResolvers<Answer>()
    if (waiting.length === 0) schedule()
    waiting.push({ method, params, reject, resolve })
    const answer = await promise
    if (answer.error !== undefined) {
      if (isRevert(answer.error)) throw new CallReverted(answer.error.message)
      throw new LedgerUnavailable(`the node refused ${method}`, { cause: answer.error })
    }
    const parsed = schema.safeParse(answer.result)
    if (parsed.success) return parsed.data
    const { error: cause } = parsed
    throw new LedgerUnavailable(`the node's answer to ${method} is unreadable`, { cause })
  }
}

/** Sends one call as it is, several as a batch; a node that takes no batches gets them one by one. */
async function send(
  calls: readonly Call[],
  options: Parameters<typeof createJsonRpc>[0],
): Promise<void> {
  const [first] = calls
  if (first === undefined) return
  const messages = calls.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }))
  const answered = await fetchJson({
    ...options,
    timeoutMs: TIMEOUT_MS,
    bytesMax: ANSWER_BYTES_MAX,
    body: JSON.stringify(calls.length === 1 ? messages[0] : messages),
  })
  if (answered.kind !== 'answered') {
    const { cause } = answered
    for (const { method, reject } of calls)
      reject(new LedgerUnavailable(`the node did not answer ${method}`, { cause }))
    return
  }
  const { json, status } = answered
  if (calls.length === 1) return settle(first, json, status)
  const batch = batchSchema.safeParse(json).data
  if (batch === undefined && status === 200) {
    for (const call of calls) void send([call], options)
    return
  }
  const byId = new Map(batch?.map((one) => [one.id, one]))
  for (const [id, call] of calls.entries()) settle(call, byId.get(id), status)
}

function settle({ method, reject, resolve }: Call, json: unknown, status: number): void {
  const { data, error: cause } = answerSchema.safeParse(json)
  if (data !== undefined) return resolve(data)
  reject(new LedgerUnavailable(`the node answered ${status} to ${method}`, { cause }))
}

/** Code 3 is Geth's; others put it in words. */
function isRevert({ code, message }: { code: number; message: string }): boolean {
  return (
    code === 3 ||
    /revert|invalid opcode|stack underflow|out ?of ?gas|gas required exceeds/i.test(message)
  )
}
