// The time from a signed write to a receiver that has the webhook, beside the time to a subscriber that hears the update over
// its stream: the same writes, both on loopback. Values are sealed, as Events ask for; every delivery is a connection of its own.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { mintToken } from '@tallystick/jwt-lite'
import { type Figure, judgeFigure } from '../figure.ts'
import { McpLoad } from '../mcp-load.ts'
import { quantileOfBatches } from '../quantile.ts'
import { BENCH_BASE_URL, BENCH_TOKEN_SECRET } from '../server/bench-protocol.ts'
import { ServerProcess } from '../server-process.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const WRITES = 200
/** Writes per batch; each figure is the median over the batches. */
const BATCHES = 3
/** Writes before the measured ones, which compile the code. */
const WARM_WRITES = 500
const UPDATED = '"method":"notifications/resources/updated"'
const MODERN_PATH = '/mcp/2026-07-28'

type Delays = { readonly webhookMs: number; readonly heardMs: number }

/** Answers challenges, and tells of each event. */
async function startReceiver(onEvent: () => void) {
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const body = JSON.parse(await text(request)) as { readonly challenge?: string }
      if (body.challenge === undefined) onEvent()
      response.end(JSON.stringify({ challenge: body.challenge }))
    }
    answer().catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, close: () => void server.close() }
}

async function subscribe(serverUrl: string, receiverUrl: string): Promise<void> {
  const token = mintToken({
    sub: 'receiver',
    scope: 'care.read.user',
    audience: `${BENCH_BASE_URL}${MODERN_PATH}`,
    typ: 'care+jwt',
    key: Buffer.from(BENCH_TOKEN_SECRET),
    nowSeconds: Date.now() / 1_000,
    jti: 'bench',
  })
  const method = 'events/subscribe'
  const params = {
    name: 'care.record.revised',
    arguments: { patient: 'ann' },
    delivery: {
      mode: 'webhook',
      url: receiverUrl,
      secret: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
    },
    cursor: null,
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  }
  const answer = await fetch(new URL(MODERN_PATH, serverUrl), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      authorization: `Bearer ${token}`,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const said = await answer.text()
  if (!said.includes('refreshBefore')) throw new Error(said)
}

/** Signed durable write to webhook and to notification, over batches of 200 consecutive writes. */
export async function measureCareEvents(): Promise<readonly Figure[]> {
  using folder = temporaryFolder()
  const server = await ServerProcess.start('care-server.ts', [folder.file('care.db'), 'events'])
  const load = new McpLoad(server.url)
  let onEvent: (() => void) | undefined
  const receiver = await startReceiver(() => onEvent?.())
  try {
    await load.write('the first')
    const [id = ''] = await load.openSessions(1)
    await load.subscribe(id)
    await load.openStream(id)
    await subscribe(server.url, receiver.url)
    const delays: Delays[] = []
    for (let count = 0; count < WARM_WRITES + BATCHES * WRITES; count += 1) {
      const startMs = performance.now()
      const sinceStart = (): number => performance.now() - startMs
      const heard = Promise.withResolvers<number>()
      const received = Promise.withResolvers<number>()
      load.onPiece = (piece) => {
        if (piece.includes(UPDATED)) heard.resolve(sinceStart())
      }
      onEvent = () => received.resolve(sinceStart())
      await load.write(`Two tablets after breakfast, note ${count}.`)
      const [heardMs, webhookMs] = await Promise.all([heard.promise, received.promise])
      if (count >= WARM_WRITES) delays.push({ heardMs, webhookMs })
    }
    return [
      { name: 'write to webhook received, p50', share: 0.5, atMostMs: 10 },
      { name: 'write to webhook received, p95', share: 0.95, atMostMs: 25 },
    ].map(({ atMostMs, name, share }) =>
      judgeFigure({
        name,
        value: quantileOfBatches(
          delays.map((delay) => delay.webhookMs),
          { batchSize: WRITES, share },
        ),
        unit: 'ms',
        baseline: {
          name: 'write to notification, same writes',
          value: quantileOfBatches(
            delays.map((delay) => delay.heardMs),
            { batchSize: WRITES, share },
          ),
        },
        aim: { kind: 'at-most', value: atMostMs },
      }),
    )
  } finally {
    load.close()
    receiver.close()
    await server.stop()
  }
}
