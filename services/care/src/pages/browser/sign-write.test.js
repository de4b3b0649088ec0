import { expect, it } from 'vitest'
import golden from '../../../vectors/write-signature.json' with { type: 'json' }
import { canSign, signWrite } from './sign-write.js'

it.each(golden.vectors)(
  'signs <timestamp>.<raw body> as openssl does: $timestamp',
  async ({ secret, timestamp, body, signature }) => {
    expect(await signWrite({ secret, timestamp, body })).toEqual({ body, timestamp, signature })
  },
)

it('another body, timestamp or secret gives another signature', async () => {
  const write = { secret: 'a', timestamp: '2026-11-21T12:00:00.000Z', body: '{}' }
  const signatures = await Promise.all(
    [
      write,
      { ...write, secret: 'b' },
      { ...write, body: '{ }' },
      { ...write, timestamp: '2026' },
    ].map(async (one) => (await signWrite(one)).signature),
  )
  expect(new Set(signatures).size).toBe(4)
})

it('knows that it may sign where WebCrypto is there', () => {
  expect(canSign()).toBe(true)
})
