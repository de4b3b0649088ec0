// What sessions may still ask for after a record was erased (C31).
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { eraseChain } from '../adapters/open-stores.ts'
import { testKeyRing } from '../adapters/sqlite-store.fixture.ts'
import { startRunningCare } from '../testing/running-care.fixture.ts'
import { isOnPostgres } from '../testing/store-place.fixture.ts'
import type { WriteAnswer } from '../wire/write.ts'
import { initializeBody } from './mcp.fixture.ts'
import { PLAN, TEA, useStreams } from './streams.fixture.ts'

const suite = useStreams()

it('C31: attack: a host resumes behind an erasure and asks for the frames again: none names the record, or a hash to guess it by', async () => {
  const { fixture, session } = suite
  await session.subscribe(TEA)
  const stream = await suite.stream()
  await expect.poll(() => stream.events.length).toBeGreaterThan(0)
  const start = stream.lastEventId
  const { record } = await suite.tea('v2')
  await expect.poll(() => stream.methods).toHaveLength(2)
  stream.drop()
  await suite.plan('another plan')
  await fixture.endpoint.erased([{ patient: 'ann', domain: 'tea' }])
  for (const when of ['running', 'restarted'] as const) {
    if (when === 'restarted') await fixture.restart()
    const resumed = await suite.stream(session, start)
    await expect.poll(() => resumed.methods).toEqual(['notifications/message'])
    const text = JSON.stringify(resumed.events)
    expect(text).toContain(PLAN)
    for (const told of [TEA, record.versionHash]) expect(text).not.toContain(told)
    resumed.drop()
  }
  expect(fixture.endpoint.figures()).toMatchObject({ framesHeld: 0, sessions: 1 })
})

it.skipIf(isOnPostgres)(
  'the command erases beside the running service: within a second no file of the store holds a hash of the record',
  async () => {
    const keyRing = testKeyRing('key-1')
    const key = keyRing.key('key-1')?.export().toString('base64')
    const care = await startRunningCare({ environment: { SEAL_KEYS: `key-1:${key}` } })
    try {
      const databasePath = care.place.environment['DATABASE_PATH'] ?? ''
      const opened = await fetch(`${care.url}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${care.token('care.read.user')}`,
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
        },
        body: JSON.stringify(initializeBody()),
      })
      expect(opened.status).toBe(200)
      const slot = { patient: 'ann', domain: 'tea', audience: 'user' } as const
      const answer = await care.write({ ...slot, value: 'Take ten drops.', authorId: 'dr-osei' })
      const { versionHash } = (await answer.json()) as WriteAnswer
      const filesWithHash = (): readonly string[] =>
        readdirSync(dirname(databasePath)).filter((name) =>
          readFileSync(join(dirname(databasePath), name)).includes(versionHash),
        )
      expect(filesWithHash().length).toBeGreaterThan(0)
      const by = { at: '2026-06-02T09:00:00.000Z', actor: 'dr-osei', reason: 'asked to' }
      await eraseChain({ DATABASE_PATH: databasePath }, { slot, by }, keyRing)
      await expect.poll(filesWithHash).toEqual([])
    } finally {
      await care.remove()
    }
  },
)
