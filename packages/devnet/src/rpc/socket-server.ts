// The JSON-RPC edge over WebSocket, on the same port: every method, and the subscriptions that only a socket has. It answers as
// src/ws-server of hiero-json-rpc-relay does, and tells every block, of which the relay skips some when they come fast.

import type { IncomingMessage } from 'node:http'
import type { Clock } from '@tallystick/service-kit'
import type { FastifyInstance } from 'fastify'
import { type Address, numberToHex } from 'viem'
import { type WebSocket, WebSocketServer } from 'ws'
import type { Ledger } from '../ledger/ledger.ts'
import { isAnswerLost } from '../ledger/network-faults.ts'
import { findCaller, withoutCaller } from '../request-limits.ts'
import { type Answering, answerMessage, isControl } from './answer-message.ts'
import { blocksBetween, visibleBlock } from './block-methods.ts'
import { logsBetween, readCriteria } from './log-methods.ts'
import type { JsonObject } from './outer-view.ts'
import { type RpcMethods, refusals } from './rpc-method.ts'

/** Subscriptions of one socket (the relay's WS_SUBSCRIPTION_LIMIT). */
const SUBSCRIPTIONS_MAX = 10

/** Calls in one batch over a socket (WS_BATCH_REQUESTS_MAX_SIZE). */
const BATCH_CALLS_MAX = 20

/** How long a socket may be silent in both directions, milliseconds (WS_MAX_INACTIVITY_TTL). */
const IDLE_MS_MAX = 300_000

/** The relay's code and words when it closes a silent socket. */
const IDLE = { code: 4002, message: 'Connection timeout expired' }

/** How often subscribers are told what is new, milliseconds: the relay's 500 would be most of a local test's time. */
const NOTICE_MS = 50

/** Sockets at once: a suite and its pages have a few, and a program that leaks them learns it here. */
const SOCKETS_MAX = 100

/** What a socket that is not read may leave waiting in memory, bytes; more ends it. */
const WAITING_BYTES_MAX = 16_777_216

type Subscription = {
  nextBlock: number
  read: (range: { from: number; to: number }) => JsonObject[] | Promise<JsonObject[]>
}

type Options = {
  ledger: Ledger
  timers: Pick<Clock, 'after'>
  answeringFor: (caller: string) => Omit<Answering, 'batchCallsMax' | 'unreadable'>
  messageBytesMax: number
}

/** Takes the WebSockets of a server that will listen; they end with it. */
export function attachSocketServer(app: FastifyInstance, options: Options): void {
  const { ledger, timers, messageBytesMax } = options
  const server = new WebSocketServer({ noServer: true, maxPayload: messageBytesMax })
  const connections = new Map<WebSocket, ReturnType<typeof serve>>()
  let stopTimer: (() => void) | undefined
  const tellLater = (): void => {
    stopTimer = timers.after(NOTICE_MS, () => {
      const notices = [...connections.values()].map((connection) => connection.tell())
      void Promise.all(notices)
        .catch((cause: unknown) => {
          // Blocks of a ledger that is being stopped cannot be read; what was missed is gone.
          process.stderr.write(`devnet: sockets: ${String(cause)}\n`)
        })
        .finally(() => {
          if (connections.size > 0) tellLater()
        })
    })
  }
  app.server.on('upgrade', (request, stream, head) => {
    if (ledger.faults.unavailable.rpc || connections.size >= SOCKETS_MAX) {
      stream.destroy()
      return
    }
    withoutCaller(request)
    server.handleUpgrade(request, stream, head, (socket) => {
      if (connections.size === 0) tellLater()
      const connection = serve(socket, request, options)
      connections.set(socket, connection)
      socket.on('close', () => {
        connection.end()
        connections.delete(socket)
        if (connections.size === 0) stopTimer?.()
      })
    })
  })
  app.addHook('preClose', async () => {
    for (const socket of connections.keys()) socket.terminate()
  })
}

/** One socket: answers its messages, tells its subscriptions what is new, and ends it when it is silent. */
function serve(socket: WebSocket, request: IncomingMessage, options: Options) {
  const { ledger, timers } = options
  const caller = findCaller({ raw: request, ip: request.socket.remoteAddress ?? '' })
  const subscriptions = new Map<string, Subscription>()
  const subscribing = subscriptionMethods(ledger, subscriptions)
  let cancelIdle: (() => void) | undefined
  const stayOpen = (): void => {
    cancelIdle?.()
    // An answer may come after its socket has closed: no timer may outlive it.
    if (socket.readyState !== socket.OPEN) return
    cancelIdle = timers.after(IDLE_MS_MAX, () => {
      socket.send(JSON.stringify({ jsonrpc: '2.0', error: IDLE, id: '1' }))
      socket.close(IDLE.code, IDLE.message)
    })
  }
  const send = (message: unknown): void => {
    if (socket.bufferedAmount > WAITING_BYTES_MAX) socket.terminate()
    else socket.send(JSON.stringify(message))
    stayOpen()
  }

  async function answer(text: string): Promise<void> {
    const { admit, methods, ...rest } = options.answeringFor(caller)
    const answered = await answerMessage(text, {
      ...rest,
      batchCallsMax: BATCH_CALLS_MAX,
      unreadable: refusals.invalidRequest(),
      methods: new Map([...methods, ...Object.entries(subscribing)]),
      // Subscriptions have their own limit.
      admit: (method) => (method in subscribing ? undefined : admit(method)),
    })
    if (!isControl(text) && isAnswerLost(ledger.faults, 'rpc', text)) socket.terminate()
    else send(answered)
  }

  stayOpen()
  // A message that is too large, or no text, ends the socket by itself: 'close' follows.
  socket.on('error', () => undefined)
  socket.on('message', (data: Buffer) => {
    stayOpen()
    void answer(data.toString())
  })
  return {
    end: () => cancelIdle?.(),
    async tell(): Promise<void> {
      if (ledger.faults.unavailable.rpc) socket.terminate()
      const to = visibleBlock(ledger)
      for (const [subscription, entry] of subscriptions) {
        const from = entry.nextBlock
        if (from > to) continue
        entry.nextBlock = to + 1
        for (const result of await entry.read({ from, to })) {
          if (!subscriptions.has(subscription)) break
          send({ jsonrpc: '2.0', method: 'eth_subscription', params: { result, subscription } })
        }
      }
    },
  }
}

/** `eth_subscribe` and `eth_unsubscribe` of one socket. */
function subscriptionMethods(ledger: Ledger, subscriptions: Map<string, Subscription>): RpcMethods {
  /** Subscriptions by what they ask for: the relay gives the same thing the same id (WS_SAME_SUB_FOR_SAME_EVENT). */
  const ids = new Map<string, string>()
  let lastId = 0
  return {
    async eth_subscribe([event, filter]) {
      const { key, read } = await chooseEvent(ledger, event, filter ?? {})
      const known = ids.get(key)
      if (known !== undefined && subscriptions.has(known)) return known
      if (subscriptions.size >= SUBSCRIPTIONS_MAX) throw refusals.tooManySubscriptions()
      lastId += 1
      const id = numberToHex(lastId, { size: 16 })
      ids.set(key, id)
      subscriptions.set(id, { nextBlock: visibleBlock(ledger) + 1, read })
      return id
    },
    /** Without an id, ends all of them, as the relay does. */
    eth_unsubscribe([id]) {
      if (typeof id === 'string') return subscriptions.delete(id)
      const hadSome = subscriptions.size > 0
      subscriptions.clear()
      return hadSome
    },
  }
}

async function chooseEvent(
  ledger: Ledger,
  event: unknown,
  filter: object,
): Promise<{ key: string; read: Subscription['read'] }> {
  if (event === 'newHeads') {
    const isFull = 'includeTransactions' in filter && filter.includeTransactions === true
    const read: Subscription['read'] = (range) => blocksBetween(ledger, { ...range, isFull })
    return { key: `newHeads ${isFull}`, read }
  }
  if (event !== 'logs') throw refusals.unsupportedMethod()
  const { addresses, topics } = readCriteria(filter)
  const [address, another] = new Set(addresses)
  if (another !== undefined) {
    throw refusals.invalidParameter('filters.address', 'Only one contract address is allowed')
  }
  if (address !== undefined && !(await emitsLogs(ledger, address))) {
    const why = 'is not a valid contract or token type or does not exists'
    throw refusals.invalidParameter('filters.address', `${address} ${why}`)
  }
  const criteria = { addresses, topics: topics ?? [] }
  const key = JSON.stringify(criteria)
  return { key, read: (range) => logsBetween(ledger, { criteria, ...range }) }
}

/** Whether a contract or a token is there. */
async function emitsLogs(ledger: Ledger, address: Address): Promise<boolean> {
  const at = ledger.accounts.canonicalAddress(address)
  return (await ledger.anvil.call('eth_getCode', [at, 'latest'])) !== '0x'
}
