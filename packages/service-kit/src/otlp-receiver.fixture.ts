/** A collector for tests: takes spans over OTLP/HTTP in JSON, or behaves as badly as it is told. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'

const Value = z.union([
  z.object({ stringValue: z.string() }).transform(({ stringValue }) => stringValue),
  z.object({ intValue: z.coerce.number() }).transform(({ intValue }) => intValue),
  z.object({ doubleValue: z.number() }).transform(({ doubleValue }) => doubleValue),
])
const Attributes = z
  .array(z.object({ key: z.string(), value: Value }))
  .transform((list) => Object.fromEntries(list.map(({ key, value }) => [key, value])))
const Message = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: Attributes }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              name: z.string(),
              kind: z.number(),
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              traceState: z.string().optional(),
              startTimeUnixNano: z.coerce.bigint(),
              endTimeUnixNano: z.coerce.bigint(),
              attributes: Attributes,
              status: z.object({ code: z.number() }),
            }),
          ),
        }),
      ),
    }),
  ),
})

type ReceivedSpan = z.output<
  typeof Message
>['resourceSpans'][number]['scopeSpans'][number]['spans'][number] & { readonly service: string }

type Misbehaviour = (request: IncomingMessage, response: ServerResponse) => void

export async function startOtlpReceiver(misbehave?: Misbehaviour) {
  const spans: ReceivedSpan[] = []
  const texts: string[] = []
  const heads: IncomingMessage['headers'][] = []
  const receiver = { before: async (): Promise<void> => undefined }
  const server = createServer(async (request, response) => {
    heads.push(request.headers)
    if (misbehave !== undefined) return misbehave(request, response)
    await receiver.before()
    let text = ''
    for await (const chunk of request) text += String(chunk)
    texts.push(text)
    for (const { resource, scopeSpans } of Message.parse(JSON.parse(text)).resourceSpans)
      for (const span of scopeSpans.flatMap((scope) => scope.spans))
        spans.push({ ...span, service: String(resource.attributes['service.name']) })
    response.setHeader('content-type', 'application/json')
    response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(receiver, {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    /** The messages as they came. */
    texts,
    heads,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}
