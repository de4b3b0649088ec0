// What sessions may still ask for after a record was erased (C31).
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { eraseChain } from '../../adapters/open-stores.ts'
import { testKeyRing } from '../../adapters/records/sqlite-store.fixture.ts'
import { type RunningCare, startRunningCare } from '../../testing/running-care.fixture.ts'
import { isOnPostgres } from '../../testing/store-place.fixture.ts'
import type { WriteAnswer } from '../../wire/write.ts'
import { initializeBody } from '../mcp.fixture.ts'
import { EventReader } from './event-reader.fixture.ts'

const TEA = 'care://ann/tea'
const keyRing = testKeyRing('key-1')

/** Opens a session and returns a way to open its streams. */
async function openSession(care: RunningCare) {
  const token = care.token('care.read.user')
  const post = (message: object, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${care.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(message),
    })
  const sessionId = (await post(initializeBody())).headers.get('mcp-session-id') ?? ''
  const subscribe = { method: 'resources/subscribe', params: { uri: TEA } }
  return {
    subscribe: () => post({ jsonrpc: '2.0', id: 1, ...subscribe }, { 'mcp-session-id': sessionId }),
    stream: (lastEventId?: string) =>
      EventReader.open({ port: Number(new URL(care.url).port), token, sessionId, lastEventId }),
  }
}

it.skipIf(isOnPostgres)(
  'C31: attack: a host resumes behind an erasure: within a second none of what it gets names the record, or a hash to guess it by, and no file holds one',
  async () => {
    const key = keyRing.key('key-1')?.export().toString('base64')
    const care = await startRunningCare({ environment: { SEAL_KEYS: `key-1:${key}` } })
    try {
      const databasePath = care.place.environment['DATABASE_PATH'] ?? ''
      const session = await openSession(care)
      const slot = { patient: 'ann', domain: 'tea', audience: 'user' } as const
      const write = async (domain: string, value: string) =>
        (await (
          await care.write({ ...slot, domain, value, authorId: 'dr-osei' })
        ).json()) as WriteAnswer
      await write('tea', 'Take five drops.')
      await session.subscribe()
      const stream = await session.stream()
      await expect.poll(() => stream.lastEventId).toBeDefined()
      const start = stream.lastEventId
      const { versionHash } = await write('tea', 'Take ten drops.')
      await write('walks', 'Twice around the pond.')
      await expect.poll(() => stream.methods).toHaveLength(6)
      const heard = async (): Promise<string> => {
        const resumed = await session.stream(start)
        await expect.poll(() => JSON.stringify(resumed.events)).toContain('ann/walks')
        resumed.drop()
        return JSON.stringify(resumed.events)
      }
      expect(await heard()).toContain(versionHash)
      const by = { at: '2026-06-02T09:00:00.000Z', actor: 'dr-osei', reason: 'asked to' }
      await eraseChain({ DATABASE_PATH: databasePath }, { slot, by }, keyRing)
      await expect.poll(heard).not.toMatch(/ann\/tea/)
      expect(await heard()).not.toContain(versionHash)
      const filesWithHash = (): readonly string[] =>
        readdirSync(dirname(databasePath)).filter((name) =>
          readFileSync(join(dirname(databasePath), name)).includes(versionHash),
        )
      expect(filesWithHash()).toEqual([])
    } finally {
      await care.remove()
    }
  },
)
