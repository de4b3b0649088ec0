// Requests that confuse a router, a proxy or a cache, and an unusual agent.
import { beforeAll, describe, expect, it } from 'vitest'
import { openSocket } from '../raw-exchange.ts'
import type { ReplicaStack } from '../replica-stack.ts'
import { type AccessTarget, aimAt, ZERO_ADDRESS } from './access-target.ts'

/** Runs them at the first process of a stack. */
export function oddRequestTests(stackOf: () => ReplicaStack): void {
  let target: AccessTarget

  beforeAll(async () => {
    target = await aimAt(stackOf())
  })

  /** Sends a raw request line; returns everything that came back. */
  async function answerTo(requestLine: string): Promise<string> {
    const socket = await openSocket(target.stack.baseUrls[0] ?? '')
    socket.write(`${requestLine} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    let text = ''
    for await (const chunk of socket) text += String(chunk)
    return text
  }

  describe('path confusion: no request target reaches the paid handler unpaid', () => {
    it.each([
      ['HEAD', 'HEAD /api/svc/access'],
      ['HEAD in absolute form', 'HEAD http://x/api/svc/access'],
      ['absolute form', 'GET http://evil.example/api/svc/access'],
      ['an encoded letter', 'GET /api/svc/%61ccess'],
      ['a double slash', 'GET //api/svc/access'],
      ['a double slash inside', 'GET /api//svc/access'],
      ['an encoded slash', 'GET /api%2Fsvc/access'],
      ['a trailing slash', 'GET /api/svc/access/'],
      ['an encoded line end', 'GET /api/svc/access%0a'],
      ['a dot segment', 'GET /api/svc/x/../access'],
      ['a parameter', 'GET /api/svc/access;a=b'],
      ['malformed percent', 'GET /%zz/api/svc/access'],
      ['the method in another case', 'get /api/svc/access'],
      ['POST', 'POST /api/svc/access'],
    ])('%s', async (_name, head) => {
      const agent = `0x${'ab'.repeat(20)}`
      const answer = await answerTo(`${head}?agent=${agent}`)
      const status = Number(answer.split(' ')[1])
      expect([400, 402, 404, 405], answer).toContain(status)
      // A challenge contains an example of the answer, never the answer itself.
      const [, body = ''] = answer.split('\r\n\r\n')
      expect(body).not.toMatch(/^\{"access"/)
    })
  })

  describe('what an answer says', () => {
    it('the resource’s address is the service’s own, whatever Host a proxy or a stranger sends', async () => {
      const { body } = await target.call(ZERO_ADDRESS, {
        host: 'evil.example',
        'x-forwarded-proto': 'ftp',
      })
      expect(body.resource?.url).toBe(`${target.stack.baseUrls[0]}/api/svc/access`)
    })

    it('CDN cache leak: neither challenge nor paid answer may be stored, and both can be read across origins', async () => {
      const agent = await target.newAgent('cached')
      const origin = { origin: 'https://page.example' }
      const answers = [
        await target.call(agent.evmAddress, origin),
        await target.call(agent.evmAddress, { ...origin, ...(await target.forge.headers(agent)) }),
        await target.call(agent.evmAddress, origin),
      ]
      expect(answers.map(({ status }) => status)).toEqual([402, 200, 200])
      for (const { headers } of answers) {
        expect(headers.get('cache-control')).toBe('no-store')
        expect(headers.get('access-control-expose-headers')).toMatch(/PAYMENT-RE/i)
      }
    })
  })

  describe('odd agents', () => {
    it('A24: the zero address gets the challenge of any other, which says that nobody holds it, and a payment for it moves nothing', async () => {
      const giver = await target.newAgent('giver-to-zero')
      const challenge = await target.call(ZERO_ADDRESS)
      expect(challenge).toMatchObject({ status: 402, body: { notice: expect.any(String) } })
      const gift = await target.call(
        ZERO_ADDRESS,
        await target.forge.headers(giver, {
          fill: (payment, agent) =>
            target.forge.pay(payment, agent).setTransactionMemo(`x402:${ZERO_ADDRESS}`),
        }),
      )
      expect(gift).toMatchObject({ status: 402, body: { error: 'agent_unheld' } })
      expect(await target.spentTinybar(giver)).toBe(0n)
    })
  })
}
