/**
 * JSON-RPC calls to one node. Calls made at the same moment share a request; while one is under way, the next calls gather.
 * The caller decides what a call and its failures mean.
 */
import type { Clock } from './clock.ts'
import { fetchJson, type JsonAnswer } from './http-json.ts'

/** The second try covers a kept connection that the node has closed. More would only delay news of an outage. */
const TRIES = 2

/** A node's answer to one call. */
export type JsonRpcOutcome =
  | { readonly kind: 'result'; readonly result: unknown }
  /** Its error, in its own words. */
  | {
      readonly kind: 'refused'
      readonly code: number
      readonly message: string
      readonly data: string | undefined
    }
  /** No answer, or one that is not JSON-RPC. */
  | { readonly kind: 'failed'; readonly answer: Exclude<JsonAnswer, { kind: 'answered' }> }

type Node = {
  readonly url: string
  readonly clock: Clock
  readonly timeoutMs: number
  /** Longest answer read. */
  readonly bytesMax: number
}

type JsonRpcOptions = Node & {
  /** Most calls in one request. */
  readonly callsMax: number
  /** Longest wait behind a request that is under way, milliseconds. */
  readonly gatherMs: number
  /** Requests under way at once; further calls gather. */
  readonly requestsMax: number
  /** Receives the methods of every request that leaves. */
  readonly onCalls?: ((methods: readonly string[]) => void) | undefined
}

type Call = {
  readonly method: string
  readonly params: readonly unknown[]
  readonly resolve: (outcome: JsonRpcOutcome) => void
}

/** Makes one call that may be repeated, such as a read. Never throws. */
type JsonRpc = (method: string, params: readonly unknown[]) => Promise<JsonRpcOutcome>

/** A caller whose calls share requests. It connects to nothing yet. */
export function createJsonRpc(options: JsonRpcOptions): JsonRpc {
  const { callsMax, clock, gatherMs, onCalls, requestsMax } = options
  const gathered: Call[] = []
  let requests = 0
  let cancelGathering: (() => void) | undefined
  let isFlushing = false

  async function ask(calls: readonly Call[]): Promise<void> {
    requests += 1
    onCalls?.(calls.map(({ method }) => method))
    await send(calls, options)
    requests -= 1
    if (gathered.length > 0) flushSoon()
  }

  function flush(): void {
    isFlushing = false
    cancelGathering?.()
    cancelGathering = undefined
    while (gathered.length > 0 && requests < requestsMax) void ask(gathered.splice(0, callsMax))
  }

  /** Flushes once everything that runs at this moment has made its calls. */
  function flushSoon(): void {
    if (isFlushing) return
    isFlushing = true
    setImmediate(flush)
  }

  return (method, params) =>
    new Promise((resolve) => {
      gathered.push({ method, params, resolve })
      if (requests === 0) flushSoon()
      else cancelGathering ??= clock.after(gatherMs, flushSoon)
    })
}

/** Makes one call in its own request, and never repeats it. Never throws. */
export async function callJsonRpcOnce(
  node: Node,
  method: string,
  params: readonly unknown[],
): Promise<JsonRpcOutcome> {
  const answer = await fetchJson({
    ...node,
    body: JSON.stringify(writeMessage({ method, params }, 0)),
  })
  return answer.kind === 'answered'
    ? readOutcome(answer.json, answer.status)
    : { kind: 'failed', answer }
}

const writeMessage = ({ method, params }: Pick<Call, 'method' | 'params'>, id: number) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})

/** Sends one call alone, several as a batch; a node that takes no batches gets them one by one. */
async function send(calls: readonly Call[], node: Node): Promise<void> {
  const [only, ...others] = calls.map(writeMessage)
  const body = JSON.stringify(others.length === 0 ? only : [only, ...others])
  const answer = await post(node, body)
  if (answer.kind !== 'answered') {
    for (const { resolve } of calls) resolve({ kind: 'failed', answer })
    return
  }
  const { json, status } = answer
  if (calls.length > 1 && takesNoBatches(json)) {
    for (const call of calls) void send([call], node)
    return
  }
  // A single answer to a batch, such as "too many requests", is for each of its calls.
  const byId = Array.isArray(json)
    ? new Map(json.filter(isObject).map((reply) => [reply.id, reply]))
    : json
  for (const [id, { resolve }] of calls.entries())
    resolve(readOutcome(byId instanceof Map ? byId.get(id) : byId, status))
}

async function post(node: Node, body: string): Promise<JsonAnswer> {
  for (let left = TRIES; ; left -= 1) {
    const answer = await fetchJson({ ...node, body })
    const isBroken = answer.kind === 'unreachable' && !answer.isTimeout
    if (!isBroken || left <= 1) return answer
  }
}

type Message = {
  readonly id?: unknown
  readonly result?: unknown
  readonly error?: unknown
  readonly code?: unknown
  readonly message?: unknown
  readonly data?: unknown
}

const isObject = (json: unknown): json is Message => typeof json === 'object' && json !== null

/** JSON-RPC's codes for an invalid request and for text that does not parse. */
function takesNoBatches(json: unknown): boolean {
  if (!isObject(json) || !isObject(json.error)) return false
  return json.error.code === -32_600 || json.error.code === -32_700
}

function readOutcome(json: unknown, status: number): JsonRpcOutcome {
  if (isObject(json) && isObject(json.error)) {
    const { code, data, message } = json.error
    const text = typeof data === 'string' ? data : undefined
    return { kind: 'refused', code: Number(code), message: String(message), data: text }
  }
  if (isObject(json) && 'result' in json) return { kind: 'result', result: json.result }
  const cause = new Error(`the node answered ${status} and no JSON-RPC`)
  return { kind: 'failed', answer: { kind: 'nonsense', status, cause } }
}
