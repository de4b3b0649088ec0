import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ChainKeyLost, RecordStoreUnavailable } from '../domain/record-store.ts'
import { type CareFixture, joinSignature, startCareFixture } from '../testing/care.fixture.ts'
import { WRITE_BODY_BYTES_MAX } from '../wire/write-limits.ts'
import { body, NOW, writesTo } from './write.fixture.ts'

let fixture: CareFixture
beforeEach(async () => {
  fixture = await startCareFixture()
})
afterEach(() => fixture.close())
const { signed, bearer, atSecond } = writesTo(() => fixture)

describe('200', () => {
  test('uri, version, versionHash, writtenAt, subscribers, notified, and beside them silent; the audit row is accepted', async () => {
    fixture.hub.subscribers = 2
    const answer = await fixture.write(body)
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toEqual({
      uri: 'care://ann/medication',
      version: 1,
      versionHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      writtenAt: NOW,
      subscribers: 2,
      notified: true,
      silent: 0,
    })
    expect(fixture.audit.rows).toEqual([
      {
        at: NOW,
        outcome: 'accepted',
        reason: 'ok',
        via: 'hmac',
        actor: 'dr-osei',
        uri: 'care://ann/medication',
      },
    ])
  })

  test('notified is true iff subscribers > 0', async () => {
    expect((await fixture.write(body)).json()).toMatchObject({ subscribers: 0, notified: false })
  })

  test('C37: a language is kept with the record on both paths, by default the service’s', async () => {
    const german = await startCareFixture({ environment: { LANGUAGE: 'de' } })
    const on = writesTo(() => german)
    const latest = async () => {
      const read = await german.store.latest({
        patient: 'ann',
        domain: 'medication',
        audience: 'user',
      })
      return read.kind === 'found' ? read.record.language : read.kind
    }
    for (const [over, stored] of [
      [{}, 'de'],
      [{ language: 'ar' }, 'ar'],
    ] as const) {
      const payload = JSON.stringify({ ...body, ...over })
      expect((await on.signed(payload)).statusCode).toBe(200)
      expect(await latest()).toBe(stored)
      expect((await on.bearer('care.write', payload)).statusCode).toBe(200)
      expect(await latest()).toBe(stored)
    }
    const wrong = JSON.stringify({ ...body, language: 'de_DE' })
    expect((await on.signed(wrong)).statusCode).toBe(401)
    expect((await on.bearer('care.write', wrong)).statusCode).toBe(401)
    expect(german.audit.rows.slice(-2).map(({ reason }) => reason)).toEqual([
      'invalid_fields',
      'invalid_fields',
    ])
    await german.close()
  })

  test('an optional sha256= prefix is accepted', async () => {
    const payload = JSON.stringify(body)
    const signature = `sha256=${joinSignature({ timestamp: NOW, body: payload })}`
    expect((await signed(payload, { 'x-care-signature': signature })).statusCode).toBe(200)
  })

  test.each([-300, 0, 300])(
    'timestamp %d s from the server clock: within the window',
    async (seconds) => {
      expect((await atSecond(seconds)).statusCode).toBe(200)
    },
  )

  test.each(['application/json', 'text/plain', 'application/octet-stream', 'nonsense', ''])(
    'the raw body counts, whatever the content type (%j)',
    async (type) => {
      const answer = await fixture.write(body, { 'content-type': type, 'content-encoding': 'gzip' })
      expect(answer.statusCode).toBe(200)
    },
  )

  test('a body of exactly 262144 bytes is accepted', async () => {
    const empty = JSON.stringify({ ...body, value: '' })
    const value = 'x'.repeat(WRITE_BODY_BYTES_MAX - Buffer.byteLength(empty))
    const payload = JSON.stringify({ ...body, value })
    expect(Buffer.byteLength(payload)).toBe(262_144)
    expect((await signed(payload)).statusCode).toBe(200)
    expect((await signed(`${payload} `)).statusCode).toBe(401)
  })

  test('bearer with care.write: the author defaults to the sub, and the actor is always the sub', async () => {
    const { authorId: _, authorLabel: __, ...anonymous } = body
    const first = await bearer('care.write', JSON.stringify(anonymous))
    expect(first.json()).toMatchObject({ version: 1 })
    await bearer('care.write', JSON.stringify(body))
    expect(
      fixture.hub.published.map(({ record }) => [record.authorId, record.authorLabel]),
    ).toEqual([
      ['clinician-1', 'clinician-1'],
      ['dr-osei', 'Dr Osei'],
    ])
    expect(fixture.audit.rows.map(({ via, actor }) => [via, actor])).toEqual([
      ['bearer', 'clinician-1'],
      ['bearer', 'clinician-1'],
    ])
  })

  test('C24: bearer with care.write for that patient', async () => {
    const answer = await bearer(`care.write:${encodeURIComponent(body.patient)}`)
    expect(answer.statusCode).toBe(200)
  })

  test('if the signature header is present the HMAC path is used, whatever else came', async () => {
    await fixture.write(body, { authorization: 'Bearer nonsense' })
    expect(fixture.audit.rows).toMatchObject([{ via: 'hmac', reason: 'ok' }])
  })

  test('writtenAt is set by the server clock only', async () => {
    const writtenAt = '1999-01-01T00:00:00.000Z'
    expect((await fixture.write({ ...body, writtenAt, version: 9 })).json()).toMatchObject({
      writtenAt: NOW,
      version: 1,
    })
  })

  test('audience assistant gives an internal record', async () => {
    const answer = await fixture.write({ ...body, audience: 'assistant' })
    expect(answer.json().uri).toBe('care-internal://ann/medication')
  })

  test('C7: patient and domain are percent-encoded in the URI where needed', async () => {
    const answer = await fixture.write({ ...body, patient: 'Ann Ö.', domain: '50%' })
    expect(answer.json().uri).toBe('care://Ann%20%C3%96./50%25')
  })

  test('C14: a signed write that is sent again inside its window returns the first answer and adds no version', async () => {
    fixture.hub.subscribers = 1
    const first = await fixture.write(body)
    fixture.hub.subscribers = 5
    const second = await fixture.write(body)
    expect(second.body).toBe(first.body)
    expect(fixture.hub.published).toHaveLength(1)
    expect((await fixture.store.head({ ...body, audience: 'user' }))?.latestVersion).toBe(1)
  })

  test('C14: the same signed write twice at once is one version and one answer', async () => {
    fixture.hub.subscribers = 3
    fixture.hub.during = () => new Promise((resolve) => void setImmediate(resolve))
    const answers = await Promise.all(Array.from({ length: 8 }, () => fixture.write(body)))
    expect(new Set(answers.map((answer) => answer.body)).size).toBe(1)
    expect(answers[0]?.json()).toMatchObject({ version: 1, subscribers: 3 })
    expect(fixture.hub.published).toHaveLength(1)
  })
})

describe('record chain', () => {
  test('same audience: version N+1, prevHash set to vN’s hash, subscribers told with the version before', async () => {
    const first = (await fixture.write(body)).json()
    const second = (await fixture.write({ ...body, value: 'Take two.' })).json()
    expect([first.version, second.version]).toEqual([1, 2])
    const [each, two] = fixture.hub.published
    expect(each?.previous).toBeUndefined()
    expect(two?.record.prevHash).toBe(first.versionHash)
    expect(two?.previous?.value).toBe(body.value)
  })

  test('appended, then told, then answered', async () => {
    const seen: string[] = []
    fixture.hub.during = async (record) => {
      const stored = await fixture.store.latest(record)
      seen.push(`told of v${stored.kind === 'found' ? stored.record.version : '?'}`)
    }
    const answer = await fixture.write(body)
    seen.push(`answered ${answer.statusCode}`)
    expect(seen).toEqual(['told of v1', 'answered 200'])
  })

  test('100 concurrent writers: versions without gaps, one answer each, announced in order within each chain', async () => {
    let turns = 0
    fixture.hub.during = async () => {
      // If their order were not kept, later versions would be announced first.
      turns += 1
      for (let wait = 0; wait < 7 - (turns % 7); wait += 1)
        await new Promise((resolve) => void setImmediate(resolve))
    }
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        fixture.write({ ...body, domain: `d${index % 3}`, value: `Sentence ${index}` }),
      ),
    )
    expect(answers.every(({ statusCode }) => statusCode === 200)).toBe(true)
    for (const domain of ['d0', 'd1', 'd2']) {
      const uri = `care://ann/${domain}`
      const versions = answers
        .map((answer) => answer.json())
        .filter((answer) => answer.uri === uri)
        .map(({ version }) => Number(version))
        .toSorted((left, right) => left - right)
      const expected = versions.map((_, index) => index + 1)
      expect(versions).toEqual(expected)
      const heard = fixture.hub.published
        .filter(({ record }) => record.domain === domain)
        .map(({ record }) => record.version)
      expect(heard).toEqual(expected)
    }
    const verdict = (await fixture.get('/verify')).json()
    expect(verdict).toMatchObject({ versions: 100, intact: true })
  })
})

describe('409 conflict', () => {
  test('audience flip on an existing chain: the chain stays, audit reason store_rejected', async () => {
    await fixture.write(body)
    const answer = await fixture.write({ ...body, audience: 'assistant' })
    expect(answer.statusCode).toBe(409)
    expect(answer.json()).toEqual({ error: 'conflict' })
    expect(fixture.audit.rows.at(-1)).toEqual({
      at: NOW,
      outcome: 'rejected',
      reason: 'store_rejected',
      via: 'hmac',
      actor: 'dr-osei',
    })
    expect((await fixture.get('/verify')).json()).toMatchObject({ versions: 1 })
    expect(fixture.hub.published).toHaveLength(1)
  })
})

describe('405 method_not_allowed', () => {
  test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH'] as const)('%s', async (method) => {
    const answer = await fixture.app.inject({ method, url: '/write' })
    expect(answer.statusCode).toBe(405)
    expect(['', '{"error":"method_not_allowed"}']).toContain(answer.body)
    expect(answer.headers.allow).toContain('POST')
    expect(fixture.audit.rows).toEqual([])
  })
})

describe('5xx', () => {
  test('500 internal_error: unhandled failure before headers are sent, its text stays inside', async () => {
    fixture.hub.publish = async () => {
      throw new Error('secret detail')
    }
    const answer = await fixture.write(body)
    expect(answer.statusCode).toBe(500)
    expect(answer.body).toBe('{"error":"internal_error"}')
  })

  test('503 store_unavailable: the store cannot be written', async () => {
    fixture.store.append = async () => {
      throw new RecordStoreUnavailable('disk full at /secret/path')
    }
    const answer = await fixture.write(body)
    expect(answer.statusCode).toBe(503)
    expect(answer.body).toBe('{"error":"store_unavailable"}')
    expect(answer.headers['retry-after']).toBe('5')
  })

  test('C31: 503 chain_key_lost, with a sentence that does not name the chain', async () => {
    fixture.store.append = async () => {
      throw new ChainKeyLost('the key of the chain ann|tea is lost')
    }
    const answer = await fixture.write(body)
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toEqual({
      error: 'chain_key_lost',
      message: expect.stringMatching(/until the operator restores the key/),
    })
  })

  test('a write whose audit row was not stored is not a 200; sent again, it is the first version and has its row', async () => {
    const add = fixture.audit.add.bind(fixture.audit)
    fixture.audit.add = async () => {
      throw new RecordStoreUnavailable('disk full')
    }
    expect((await fixture.write(body)).statusCode).toBe(503)
    fixture.audit.add = add
    const again = await fixture.write(body)
    expect(again.json()).toMatchObject({ version: 1 })
    expect(fixture.audit.rows).toMatchObject([{ reason: 'repeated', uri: 'care://ann/medication' }])
    expect(fixture.hub.published).toHaveLength(1)
  })

  test('a later version is announced although an earlier one could not be', async () => {
    fixture.hub.during = async ({ version }) => {
      if (version === 1) throw new Error('no session store')
    }
    const answers = await Promise.all([
      fixture.write(body),
      fixture.write({ ...body, value: 'Take two.' }),
    ])
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([500, 200])
  })
})
