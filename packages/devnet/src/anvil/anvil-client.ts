// JSON-RPC to anvil over kept-alive connections. anvil starts the calls of one message in order, so one message can stamp a
// block and fill it. Single calls of the same tick share a message too, since a message costs more than a read.

import { Agent, type IncomingMessage, request } from 'node:http'
import { json as readJson } from 'node:stream/consumers'
import { type Clock, systemClock } from '@tallystick/service-kit'
import type { Block, Hex, TransactionReceipt } from 'viem'

/** anvil refused a call. `code` and `data` are anvil's. */
export class AnvilRefused extends Error {
  override name = 'AnvilRefused'
  readonly code: number
  readonly data: unknown
  constructor(error: { code: number; message: string; data?: unknown }) {
    super(error.message)
    this.code = error.code
    this.data = error.data
  }
}

/** anvil's code for parameters that it cannot read. */
export const INVALID_PARAMETERS = -32602

/** Whether anvil refused because the sender cannot cover value and gas. */
export function isFundsRefusal(error: AnvilRefused): boolean {
  return /insufficient funds/i.test(error.message)
}

/** anvil did not answer, or not in time; the call may have taken effect or may still do so. */
export class AnvilUnavailable extends Error {
  override name = 'AnvilUnavailable'
}

/** As given by anvil: amounts in tinybar, anvil's own hashes. */
export type InnerReceipt = TransactionReceipt<Hex, Hex, Hex, Hex>
export type InnerLog = InnerReceipt['logs'][number]
export type InnerBlock = Block<Hex, false, 'latest'>

export type AnvilCall = readonly [method: string, parameters?: readonly unknown[]]

/** Calls to the anvil behind the edges. They throw AnvilRefused and AnvilUnavailable. */
export type AnvilClient = Pick<ReturnType<typeof createAnvilClient>, 'call' | 'batch'>

type Answer = { id: number; result?: unknown; error?: { code: number; message: string } }

/** Connections kept open to anvil; more would only queue inside it. */
const SOCKETS_MAX = 16

/**
 * Longest wait for an answer, including the wait for a connection, milliseconds. anvil answers within milliseconds, within
 * a second on a busy machine; clients of the edges give up after 5 to 15 s. Without this limit a hanging anvil would block
 * the ledger's queue for ever.
 */
const ANSWER_MS_MAX = 20_000

/** Where an anvil listens. */
export type AnvilAddress = { readonly host: string; readonly port: number }

/** Messages to the anvil at an address. `post` resolves with the parsed answer. @throws AnvilUnavailable */
function connectToAnvil({ host, port }: AnvilAddress, clock: Pick<Clock, 'after'>) {
  const agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX })
  async function post(body: unknown): Promise<unknown> {
    const text = JSON.stringify(body)
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    }
    const answered = Promise.withResolvers<IncomingMessage>()
    const sent = request({ host, port, method: 'POST', agent, headers }, answered.resolve)
    const cancelLimit = clock.after(ANSWER_MS_MAX, () => {
      sent.destroy(new Error(`no answer within ${ANSWER_MS_MAX} ms`))
    })
    sent.on('error', answered.reject).end(text)
    try {
      return await readJson(await answered.promise)
    } catch (cause) {
      throw new AnvilUnavailable('anvil does not answer', { cause })
    } finally {
      cancelLimit()
    }
  }

  return { post, close: () => agent.destroy() }
}

/** A client of the anvil at an address. */
export function createAnvilClient(
  address: AnvilAddress,
  clock: Pick<Clock, 'after'> = systemClock,
) {
  const connection = connectToAnvil(address, clock)
  let lastId = 0

  function toRequest([method, parameters = []]: AnvilCall): { id: number; [key: string]: unknown } {
    lastId += 1
    return { jsonrpc: '2.0', id: lastId, method, params: parameters }
  }

  /** One call goes as a single message, any other number as a batch. */
  async function postAll(calls: readonly AnvilCall[]): Promise<Answer[]> {
    const requests = calls.map(toRequest)
    const answers = (await connection.post(requests.length === 1 ? requests[0] : requests)) as
      | Answer
      | Answer[]
    const byId = new Map([answers].flat().map((answer) => [answer.id, answer]))
    return requests.map(({ id }) => {
      const answer = byId.get(id)
      if (answer === undefined) throw new AnvilUnavailable('anvil left a call unanswered')
      return answer
    })
  }

  const gathered = gatherCalls(postAll)
  return {
    /** One call, sent after those of the same tick; the result as anvil gives it. */
    async call(method: string, parameters: readonly unknown[] = []): Promise<unknown> {
      return unwrap(await gathered([method, parameters]))
    },
    /** Several calls in one message, results in the same order. Throws the first refusal. */
    async batch(calls: readonly AnvilCall[]): Promise<unknown[]> {
      return (await postAll(calls)).map(unwrap)
    },
    close: connection.close,
  }
}

function unwrap(answer: Answer): unknown {
  if (answer.error !== undefined) throw new AnvilRefused(answer.error)
  return answer.result
}

/** Most calls in one message: as many as the relay takes in a batch, since an answer is read as a whole. */
const GATHERED_CALLS_MAX = 100

/**
 * Gathers the calls of one tick, such as the reads of one batch at the edge, and passes them to `send` together, which
 * returns one answer for each, in the same order.
 */
function gatherCalls(
  send: (calls: readonly AnvilCall[]) => Promise<readonly Answer[]>,
): (call: AnvilCall) => Promise<Answer> {
  let waiting: { call: AnvilCall; settle: PromiseWithResolvers<Answer> }[] = []

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
