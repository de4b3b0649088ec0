/**
 * JSON-RPC to the ledger's relay, in one place: reads that come at one moment are one request, each on a connection that
 * is kept. A send has its own request, is made once, and may take the relay as long as consensus does; reads never wait
 * for it. What the calls mean is the other adapters' business.
 */
import type { Clock } from '@tallystick/service-kit'
import { fetchJson } from '@tallystick/x402'

/** Reads take well under a second, 3 s on a busy relay; beyond this the ledger counts as unreachable. */
const READ_LIMIT_MS = 5_000

/** Hedera's relay answers a send only after consensus, 3–8 s; twice that is a dead endpoint. */
const SEND_LIMIT_MS = 15_000

/** One more try bridges a kept connection that the relay has closed. More would hide an outage behind waiting. */
const READ_TRIES = 2

/** Reads in one request: half of what Hedera's relay takes at most, so that an answer stays small. */
const BATCH_READS_MAX = 50

/** While a request is under way others gather behind it for so long, milliseconds: then the relay is slow, not busy. */
const GATHER_MS = 50

/** Read requests under way at once; those that come meanwhile gather. */
const REQUESTS_MAX = 8

/** Longest answer that is read: fifty receipts of full batches are 3 MB. */
const ANSWER_BYTES_MAX = 8_388_608

/** Receives every call that leaves, so that a budget of the relay can be kept. */
export type OnRelayCalls = (methods: readonly string[]) => void

export type Relay = {
  /** The result of one read. Throws RelayRefusal or RelayUnavailable. */
  read(method: string, params: readonly unknown[]): Promise<unknown>
  /** Sends signed bytes once. Throws RelayRefusal, or RelayUnavailable, which leaves open whether they arrived. */
  send(rawTransaction: string): Promise<void>
}

/** The relay did not answer, or not in JSON-RPC. */
export class RelayUnavailable extends Error {
  override readonly name = 'RelayUnavailable'
}

/** The relay answered a call with an error. `details` are its own words, as viem's errors have them. */
export class RelayRefusal extends Error {
  override readonly name = 'RelayRefusal'
  readonly details: string
  readonly data: string | undefined

  constructor(details: string, data: string | undefined) {
    super(`the relay refused: ${details}`)
    this.details = details
    this.data = data
  }
}

type Call = {
  readonly method: string
  readonly params: readonly unknown[]
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

type RelayOptions = {
  readonly url: string
  readonly clock: Clock
  readonly onCalls?: OnRelayCalls | undefined
}

/** A client of the relay. It connects to nothing yet. */
export function createRelay(options: RelayOptions): Relay {
  const { clock, onCalls } = options
  const gathered: Call[] = []
  let requests = 0
  let cancelGathering: (() => void) | undefined
  let isFlushing = false

  const post = async (body: unknown, timeoutMs: number, tries: number): Promise<unknown> => {
    const call = { url: options.url, clock, timeoutMs, bytesMax: ANSWER_BYTES_MAX }
    for (let left = tries; ; left -= 1) {
      const answer = await fetchJson({ ...call, body: JSON.stringify(body) })
      if (answer.kind === 'answered') return answer.json
      const isBroken = answer.kind === 'unreachable' && !isTimeout(answer.cause)
      if (!isBroken || left <= 1)
        throw new RelayUnavailable('the relay did not answer', { cause: answer.cause })
    }
  }

  const ask = async (calls: readonly Call[]): Promise<void> => {
    onCalls?.(calls.map(({ method }) => method))
    try {
      const [only, ...others] = calls.map(messageOf)
      const json = await post(
        others.length === 0 ? only : [only, ...others],
        READ_LIMIT_MS,
        READ_TRIES,
      )
      settle(calls, json)
    } catch (error) {
      for (const { reject } of calls) reject(error)
    }
  }

  const flush = (): void => {
    isFlushing = false
    cancelGathering?.()
    cancelGathering = undefined
    while (gathered.length > 0 && requests < REQUESTS_MAX) {
      requests += 1
      void ask(gathered.splice(0, BATCH_READS_MAX)).finally(() => {
        requests -= 1
        if (gathered.length > 0) flushSoon()
      })
    }
  }

  /** After whatever else runs at this moment has asked, too. */
  const flushSoon = (): void => {
    if (isFlushing) return
    isFlushing = true
    setImmediate(flush)
  }

  return {
    read: (method, params) =>
      new Promise((resolve, reject) => {
        gathered.push({ method, params, resolve, reject })
        if (requests === 0) flushSoon()
        else cancelGathering ??= clock.after(GATHER_MS, flushSoon)
      }),
    async send(rawTransaction) {
      const method = 'eth_sendRawTransaction'
      onCalls?.([method])
      // Once: a second send of taken bytes reads like a lost nonce.
      const json = await post(messageOf({ method, params: [rawTransaction] }, 0), SEND_LIMIT_MS, 1)
      resultOf(json)
    },
  }
}

const isTimeout = (cause: unknown): boolean =>
  cause instanceof Error && cause.message.startsWith('no answer within')

const messageOf = ({ method, params }: Pick<Call, 'method' | 'params'>, id: number) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})

type Message = {
  readonly id?: unknown
  readonly result?: unknown
  readonly error?: { readonly message?: unknown; readonly data?: unknown } | undefined
}

const isObject = (json: unknown): json is Message => typeof json === 'object' && json !== null

/** The result that an answer carries. Throws RelayRefusal or RelayUnavailable. */
function resultOf(json: unknown): unknown {
  if (!isObject(json)) throw new RelayUnavailable('the relay answered nonsense')
  const { error } = json
  if (isObject(error)) {
    const { data, message } = error as NonNullable<Message['error']>
    throw new RelayRefusal(String(message), typeof data === 'string' ? data : undefined)
  }
  if (!('result' in json)) throw new RelayUnavailable('the relay answered nonsense')
  return json.result
}

/** Gives each call of a request its own answer; a relay may answer all of them with one refusal, such as 429. */
function settle(calls: readonly Call[], json: unknown): void {
  const answers = Array.isArray(json) ? json : undefined
  const byId = answers && new Map(answers.filter(isObject).map((answer) => [answer.id, answer]))
  for (const [id, { resolve, reject }] of calls.entries()) {
    try {
      resolve(resultOf(byId === undefined ? json : byId.get(id)))
    } catch (error) {
      reject(error)
    }
  }
}
