import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { sendRequest } from './send-request.ts'

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function serve(answer: (response: ServerResponse) => void): Promise<string> {
  const server: Server = createServer((request, response) => {
    request.resume()
    answer(response)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const post = (url: string) =>
  sendRequest({ url, method: 'POST', headers: {}, body: '{}', bytesMax: 100 })

test('an answer is read whole, also on a kept connection', async () => {
  const url = await serve((response) => response.end('₮ok'))
  for (const _ of [1, 2]) {
    const end = await post(url).end
    expect(end).toMatchObject({ kind: 'answered', status: 200 })
    expect(end.kind === 'answered' && end.body.toString()).toBe('₮ok')
  }
})

test('an answer that breaks off failed, and may have been acted on', async () => {
  const url = await serve((response) => {
    response.writeHead(200, { 'content-length': '50' })
    response.write('{', () => response.destroy())
  })
  expect(await post(url).end).toMatchObject({ kind: 'failed', hasConnected: true })
})

test('an answer over the limit is cut off', async () => {
  const url = await serve((response) => response.end('x'.repeat(101)))
  expect(await post(url).end).toEqual({ kind: 'too_large', status: 200 })
})

test('a request given up after it was sent may have been acted on', async () => {
  const heard = Promise.withResolvers<void>()
  const url = await serve(() => heard.resolve())
  const underWay = post(url)
  await heard.promise
  const cause = new Error('too slow')
  underWay.stop(cause)
  expect(await underWay.end).toEqual({ kind: 'failed', hasConnected: true, cause })
})

test('a request given up before there was a connection has sent nothing', async () => {
  const underWay = post(await serve((response) => response.end()))
  underWay.stop(new Error('too slow'))
  expect(await underWay.end).toMatchObject({ kind: 'failed', hasConnected: false })
})

test('nobody listens, or the address is none: nothing was sent', async () => {
  const server = createTcpServer()
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  const url = `http://127.0.0.1:${port}/`
  expect(await post(url).end).toMatchObject({ kind: 'failed', hasConnected: false })
  expect(await post('no address').end).toMatchObject({ kind: 'failed', hasConnected: false })
})
