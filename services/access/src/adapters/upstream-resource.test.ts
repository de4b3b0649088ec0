import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '@tallystick/service-kit'
import { afterEach, describe, expect, test } from 'vitest'
import { ResourceUnavailable } from '../domain/access-parts.ts'
import { createUpstreamResource } from './upstream-resource.ts'

let server: Server | undefined

afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

async function upstream(listener: RequestListener): Promise<string> {
  server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/feed`
}

const json =
  (body: string, status = 200): RequestListener =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  }

describe('A13: the JSON of an upstream', () => {
  test('is passed on as it is', async () => {
    const url = await upstream(json('{"wind":[1,2.5,null]}'))
    expect(
      await createUpstreamResource({ url, timeoutMs: 60_000, clock: systemClock }).read(),
    ).toEqual({
      wind: [1, 2.5, null],
    })
  })

  test.each([
    ['an error status', json('{}', 500)],
    ['no JSON', json('<html>')],
    [
      'text that is not UTF-8',
      (_request, response) => response.end(Buffer.from([0x22, 0xff, 0x22])),
    ],
    ['more than 1 MiB', json(JSON.stringify('x'.repeat(1_100_000)))],
    [
      'a redirect',
      (_request, response) => response.writeHead(302, { location: '/elsewhere' }).end(),
    ],
    ['silence', () => undefined],
  ])('%s is ResourceUnavailable', async (_what, listener) => {
    const url = await upstream(listener)
    await expect(
      createUpstreamResource({ url, timeoutMs: 100, clock: systemClock }).read(),
    ).rejects.toBeInstanceOf(ResourceUnavailable)
  })
})
