/** What tests of HTTP do with a world: uploads, paid calls, and calls that must cost nothing. */
import { expect } from 'vitest'
import { gradeExample, uploadExample } from '../wire/examples.ts'
import type { HttpWorld } from './http-world.ts'

/** What is sold. */
export type SaleKind = 'grade' | 'audit'

/** One call of a paid route. */
export type Sent = {
  readonly payload?: string | object
  readonly headers?: Record<string, string>
}

/** The literal error of an answer. */
export const errorOf = (answer: { json(): { error?: string } }) => answer.json().error

/** The example of a grade with another pick. */
export const withPick = (change: object) => ({ pick: { ...gradeExample.pick, ...change } })

/** The same for the world of a test file, which is there once its tests run. */
export function httpCalls(world: () => HttpWorld) {
  let payments = 0
  const post = (url: string, payload: object, headers: Record<string, string> = {}) =>
    world().app.inject({ method: 'POST', url, payload, headers })
  const send = (kind: SaleKind, { payload, headers }: Sent) =>
    world().app.inject({
      method: 'POST',
      url: `/api/${kind}`,
      headers: headers ?? {},
      ...(payload === undefined ? {} : { payload }),
    })
  /** A payment of the price that nobody has sent yet. */
  const newPayment = (kind: SaleKind): Record<string, string> => {
    payments += 1
    return world().payment(kind === 'grade' ? 1 : 20, payments)
  }
  return {
    post,
    send,
    newPayment,
    /** Buys a grade with the payment of that number. */
    buy: (number: number, payload: object = gradeExample) =>
      post('/api/grade', payload, world().payment(1, number)),
    upload: (payload: object = uploadExample, token = world().token()) =>
      post('/api/ingest', payload, { authorization: `Bearer ${token}` }),
    /** Sends it without and with a payment: the answers are the same, and nothing is settled. */
    refused: async (kind: SaleKind, sent: Sent) => {
      const before = world().settlements
      const unpaid = await send(kind, sent)
      const paid = await send(kind, { ...sent, headers: { ...sent.headers, ...newPayment(kind) } })
      expect([paid.statusCode, paid.body]).toEqual([unpaid.statusCode, unpaid.body])
      expect(unpaid.headers['payment-required']).toBeUndefined()
      expect(paid.headers['payment-response']).toBeUndefined()
      expect(unpaid.headers['cache-control']).toBe('no-store')
      expect(world().settlements).toBe(before)
      return { status: unpaid.statusCode, body: unpaid.json() }
    },
  }
}
