import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CareWorld, startCareWorld } from '../testing/care-world.ts'

const body = {
  patient: 'ann',
  domain: 'medication',
  value: 'Take one tablet at breakfast.',
  authorId: 'dr-osei',
  authorLabel: 'Dr Osei',
}

let world: CareWorld
beforeEach(async () => {
  world = await startCareWorld()
})
afterEach(() => world.close())

describe('200', () => {
  test('uri, version, versionHash, writtenAt, subscribers, notified', async () => {
    world.hub.subscribers = 2
    const answer = await world.write(body)
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toEqual({
      uri: 'care://ann/medication',
      version: 1,
      versionHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      writtenAt: '2026-11-21T12:00:00.000Z',
      subscribers: 2,
      notified: true,
    })
  })
})
