import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { manualClock } from '@tallystick/service-kit'
import { afterEach, describe, expect, test } from 'vitest'
import { mirrorBalances } from './hedera-facilitator.ts'

const clock = manualClock(0)

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

const findAccount = (balance: number): string =>
  JSON.stringify({ account: '0.0.5', key: null, balance: { balance } })

/** A mirror node that answers every path but the account's with 404; its URL. */
function mirrorNode(answer: string): Promise<string> {
  return startServer((request, response) => {
    const isAccount = request.url === '/api/v1/accounts/0.0.5?transactions=false'
    response.writeHead(isAccount ? 200 : 404).end(isAccount ? answer : '{}')
  })
}

async function startServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('the balance of an account', () => {
  test.each(['', '/'])('is read from an address that ends in "%s"', async (end) => {
    const url = await mirrorNode(findAccount(7))
    expect(await mirrorBalances({ mirrorUrl: url + end, clock })('0.0.5')).toBe(7n)
  })

  test.each([
    ['no such account', '{}', '0.0.6'],
    ['no JSON', '<html>', '0.0.5'],
    ['more than an account can hold', ' '.repeat(2_097_152) + findAccount(7), '0.0.5'],
    ['an invalid balance', findAccount(-1), '0.0.5'],
  ])('%s: unknown, and nothing is thrown', async (_name, answer, accountId) => {
    const url = await mirrorNode(answer)
    expect(await mirrorBalances({ mirrorUrl: url, clock })(accountId)).toBeUndefined()
  })

  test('nor if nothing listens there', async () => {
    expect(
      await mirrorBalances({ mirrorUrl: 'http://127.0.0.1:1', clock })('0.0.5'),
    ).toBeUndefined()
  })
  test('nor if no answer comes within three seconds on the clock', async () => {
    const requested = Promise.withResolvers<void>()
    const url = await startServer(() => requested.resolve())
    const reading = mirrorBalances({ mirrorUrl: url, clock })('0.0.5')
    await requested.promise
    clock.advanceMs(3_000)
    expect(await reading).toBeUndefined()
    expect(clock.pendingCount()).toBe(0)
  })
})
