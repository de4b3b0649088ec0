// The measuring side: starts a cost server, drives it with many sessions over keep-alive connections, and asks for the
// cost.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type ClientRequest, request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { mintToken } from '@tallystick/jwt-lite'
import {
  COST_BASE_URL,
  COST_SECRET,
  COST_URI,
  type CostAnswer,
  type CostQuestion,
  type CostVariant,
} from './cost-terms.fixture.ts'

/** CPU time of the server process, user and system, microseconds. */
type RequestCost = {
  /** For `initialize` and `notifications/initialized` together. */
  readonly initializeMicros: number
  readonly readMicros: number
}

type SessionCost = {
  /** CPU time of one notification to one session, microseconds; the least of all rounds. */
  readonly notificationMicros: number
  /** Per session, after garbage collection. */
  readonly idleHeapBytes: number
  readonly streamHeapBytes: number
  readonly streamRssBytes: number
}

/** Measurements of each variant. */
const REPEATS = 3
/** Measured writes, each to all sessions. */
const ROUNDS = 10
/** Sessions opened before measuring, so that code is compiled and first allocations are made. */
const WARM_SESSIONS = 500
/** Concurrent requests. */
const WIDTH = 64

const token = (): string =>
  mintToken({
    sub: 'host',
    scope: 'care.read.user care.read.assistant',
    audience: `${COST_BASE_URL}/mcp`,
    typ: 'care+jwt',
    key: Buffer.from(COST_SECRET),
    nowSeconds: Date.now() / 1000,
    jti: 'cost',
  })

class CostProbe {
  readonly #child: ChildProcess
  readonly #url: URL
  readonly #authorization = `Bearer ${token()}`
  readonly #agent = new Agent({ keepAlive: true, maxSockets: WIDTH })
  readonly #streams: ClientRequest[] = []
  /** Called with every chunk of every stream. */
  onFrames: (text: string) => void = () => undefined

  constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.#url = new URL('/mcp', url)
  }

  static async start(variant: CostVariant): Promise<CostProbe> {
    const file = fileURLToPath(new URL('./cost-server.fixture.ts', import.meta.url))
    const child = fork(file, [variant], { execArgv: ['--expose-gc'] })
    const [first] = (await once(child, 'message')) as [CostAnswer]
    if (first.kind !== 'listening') throw new Error('the server did not start')
    return new CostProbe(child, first.url)
  }

  async ask(question: CostQuestion): Promise<CostAnswer> {
    const answered = once(this.#child, 'message')
    this.#child.send(question)
    const [answer] = (await answered) as [CostAnswer]
    return answer
  }

  async figures(question: 'figures' | 'collect'): Promise<CostAnswer & { kind: 'figures' }> {
    const answer = await this.ask(question)
    if (answer.kind !== 'figures') throw new Error(`expected figures, got ${answer.kind}`)
    return answer
  }

  async cpuMicrosOf(work: () => Promise<unknown>): Promise<number> {
    const before = await this.figures('figures')
    await work()
    const after = await this.figures('figures')
    return after.cpuMicros - before.cpuMicros
  }

  /** One POST; resolves with the session id in its answer. */
  post(message: object, sessionId?: string): Promise<string | undefined> {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }))
    return new Promise((resolve, reject) => {
      const sent = request(this.#url, {
        method: 'POST',
        agent: this.#agent,
        headers: {
          ...this.#headers(sessionId),
          'content-type': 'application/json',
          'content-length': body.length,
        },
      })
      sent.on('response', (response) => {
        let answer = ''
        response.setEncoding('utf8').on('data', (text: string) => {
          answer += text
        })
        const { statusCode = 500, headers } = response
        const id = headers['mcp-session-id']
        response.on('end', () => {
          // A refusal costs less than what was asked for, and comes with status 200.
          if (statusCode >= 300 || answer.includes('"error":'))
            reject(new Error(`${statusCode} ${answer}`))
          else resolve(typeof id === 'string' ? id : undefined)
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }

  openStream(sessionId: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const sent = request(this.#url, { agent: false, headers: this.#headers(sessionId) })
      sent.on('response', (response) => {
        response.setEncoding('utf8')
        response.on('data', (text: string) => this.onFrames(text))
        response.on('error', () => undefined)
        if (response.statusCode === 200) resolve()
        else reject(new Error(`${response.statusCode}`))
      })
      sent.on('error', reject)
      sent.end()
      this.#streams.push(sent)
    })
  }

  async stop(): Promise<void> {
    for (const stream of this.#streams) stream.on('error', () => undefined).destroy()
    this.#agent.destroy()
    const gone = once(this.#child, 'exit')
    this.#child.send('stop')
    await gone
  }

  #headers(sessionId: string | undefined): Record<string, string> {
    return {
      authorization: this.#authorization,
      accept: 'application/json, text/event-stream',
      ...(sessionId === undefined ? {} : { 'mcp-session-id': sessionId }),
    }
  }
}

/** Runs `work` for each item, a few at a time. */
async function each<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const rest = items.values()
  const one = async (): Promise<void> => {
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: WIDTH }, one))
}

const clientInfo = { name: 'cost', version: '0' }
const initialize = {
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
}
const read = { id: 1, method: 'resources/read', params: { uri: COST_URI } }
const subscribe = { id: 2, method: 'resources/subscribe', params: { uri: COST_URI } }

async function openSessions(probe: CostProbe, count: number): Promise<string[]> {
  const ids: string[] = []
  await each(Array.from({ length: count }), async () => {
    const id = await probe.post(initialize)
    if (id === undefined) throw new Error('no session was opened')
    await probe.post({ method: 'notifications/initialized' }, id)
    ids.push(id)
  })
  return ids
}

/** Writes, and waits until every subscriber has its frame. */
async function fanOut(probe: CostProbe, subscribers: number): Promise<void> {
  let frames = 0
  const heard = new Promise<void>((resolve) => {
    probe.onFrames = (text) => {
      frames += text.split('resources/updated').length - 1
      if (frames >= subscribers) resolve()
    }
  })
  await Promise.all([heard, probe.ask('fire')])
}

/** Runs `use` on a server that has answered enough requests to be compiled. */
async function withProbe<Result>(
  variant: CostVariant,
  use: (probe: CostProbe) => Promise<Result>,
): Promise<Result> {
  const probe = await CostProbe.start(variant)
  try {
    const warm = await openSessions(probe, WARM_SESSIONS)
    for (let round = 0; round < 5; round += 1) await each(warm, (id) => probe.post(read, id))
    return await use(probe)
  } finally {
    await probe.stop()
  }
}

/** CPU time of requests, with that many sessions. */
function measureRequests(variant: CostVariant, sessions: number): Promise<RequestCost> {
  return withProbe(variant, async (probe) => {
    let ids: string[] = []
    const initializeMicros = await probe.cpuMicrosOf(async () => {
      ids = await openSessions(probe, sessions)
    })
    const reads = [...ids, ...ids, ...ids]
    const readMicros = await probe.cpuMicrosOf(() => each(reads, (id) => probe.post(read, id)))
    return {
      initializeMicros: initializeMicros / sessions,
      readMicros: readMicros / reads.length,
    }
  })
}

/** The least of several measurements, taking variants in turn, since other load on the machine only adds. */
export async function leastRequestCosts(
  sessions: number,
): Promise<Readonly<Record<CostVariant, RequestCost>>> {
  const unmeasured = { initializeMicros: Infinity, readMicros: Infinity }
  const least = { floor: unmeasured, ours: unmeasured, sdk: unmeasured }
  for (let round = 0; round < REPEATS; round += 1)
    for (const variant of ['floor', 'ours', 'sdk'] as const) {
      const { initializeMicros, readMicros } = await measureRequests(variant, sessions)
      const before = least[variant]
      least[variant] = {
        initializeMicros: Math.min(before.initializeMicros, initializeMicros),
        readMicros: Math.min(before.readMicros, readMicros),
      }
    }
  return least
}

/** Memory of a session without a stream, bytes. */
export function measureIdleHeap(sessions: number): Promise<number> {
  return withProbe('ours', async (probe) => {
    const before = await probe.figures('collect')
    await openSessions(probe, sessions)
    return ((await probe.figures('collect')).heapBytes - before.heapBytes) / sessions
  })
}

/** Memory of sessions, idle and then each with a stream and a subscription, and the cost of notifying them all. */
export function measureSessions(
  variant: Exclude<CostVariant, 'floor'>,
  sessions: number,
): Promise<SessionCost> {
  return withProbe(variant, async (probe) => {
    const before = await probe.figures('collect')
    const ids = await openSessions(probe, sessions)
    const idle = await probe.figures('collect')
    await each(ids, (id) => probe.post(subscribe, id))
    await each(ids, (id) => probe.openStream(id))
    const streaming = await probe.figures('collect')
    // The thorough collection has discarded compiled code too.
    for (let round = 0; round < ROUNDS; round += 1) await fanOut(probe, sessions)
    let leastCpuMicros = Infinity
    for (let round = 0; round < ROUNDS; round += 1) {
      const cpuMicros = await probe.cpuMicrosOf(() => fanOut(probe, sessions))
      leastCpuMicros = Math.min(leastCpuMicros, cpuMicros)
    }
    return {
      // Each write sends `updated` and the revision notice.
      notificationMicros: leastCpuMicros / (sessions * 2),
      idleHeapBytes: (idle.heapBytes - before.heapBytes) / sessions,
      streamHeapBytes: (streaming.heapBytes - before.heapBytes) / sessions,
      streamRssBytes: (streaming.rssBytes - before.rssBytes) / sessions,
    }
  })
}
