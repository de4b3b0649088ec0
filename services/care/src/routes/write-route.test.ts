import { createHmac } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AuditRow } from '../domain/audit-trail.ts'
import { RecordStoreUnavailable } from '../domain/record-store.ts'
import { type CareWorld, signatureOf, startCareWorld, WRITE_SECRET } from '../testing/care-world.ts'
import { WRITE_BODY_BYTES_MAX } from './write-route.ts'

const body = {
  patient: 'ann',
  domain: 'medication',
  value: 'Take one tablet at breakfast.',
  authorId: 'dr-osei',
  authorLabel: 'Dr Osei',
}
const NOW = '2026-11-21T12:00:00.000Z'

let world: CareWorld
beforeEach(async () => {
  world = await startCareWorld()
})
afterEach(() => world.close())

type Refused = {
  readonly name: string
  readonly send: () => Promise<LightMyRequestResponse>
} & Pick<AuditRow, 'reason' | 'via' | 'actor'>

const post = (headers: Record<string, string>, payload: string | Buffer = JSON.stringify(body)) =>
  world.app.inject({ method: 'POST', url: '/write', payload, headers })
const signed = (payload: string | Buffer, over: Record<string, string> = {}) =>
  post(
    {
      'x-care-signature': signatureOf({ timestamp: NOW, body: payload }),
      'x-care-timestamp': NOW,
      ...over,
    },
    payload,
  )
const bearer = (scope: string, payload = JSON.stringify(body), claims = {}) =>
  post({ authorization: `Bearer ${world.token(scope, claims)}` }, payload)
const atSecond = (offsetSeconds: number) => {
  const timestamp = new Date(Date.parse(NOW) + offsetSeconds * 1_000).toISOString()
  const payload = JSON.stringify(body)
  return post(
    {
      'x-care-signature': signatureOf({ timestamp, body: payload }),
      'x-care-timestamp': timestamp,
    },
    payload,
  )
}
const hmac = { via: 'hmac', actor: null } as const

const refusals: readonly Refused[] = [
  {
    name: 'oversized body, signed: body_too_large',
    send: () => signed(JSON.stringify({ ...body, value: 'x'.repeat(WRITE_BODY_BYTES_MAX) })),
    reason: 'body_too_large',
    ...hmac,
  },
  {
    name: 'oversized body, bearer: body_too_large',
    send: () => bearer('care.write', 'x'.repeat(WRITE_BODY_BYTES_MAX + 1)),
    reason: 'body_too_large',
    via: 'bearer',
    actor: null,
  },
  {
    name: 'oversized body, neither: body_too_large',
    send: () => post({}, 'x'.repeat(WRITE_BODY_BYTES_MAX + 1)),
    reason: 'body_too_large',
    via: 'none',
    actor: null,
  },
  {
    name: 'missing timestamp',
    send: () => post({ 'x-care-signature': signatureOf({ timestamp: '', body: '' }) }),
    reason: 'missing_timestamp',
    ...hmac,
  },
  {
    name: 'empty timestamp: missing',
    send: () => signed(JSON.stringify(body), { 'x-care-timestamp': '' }),
    reason: 'missing_timestamp',
    ...hmac,
  },
  {
    name: 'stale timestamp, 300.001 s behind',
    send: () => atSecond(-300.001),
    reason: 'stale_timestamp',
    ...hmac,
  },
  {
    name: 'stale timestamp, 300.001 s ahead',
    send: () => atSecond(300.001),
    reason: 'stale_timestamp',
    ...hmac,
  },
  {
    name: 'unparsable timestamp: stale_timestamp, also with a wrong signature',
    send: () => post({ 'x-care-signature': 'nonsense', 'x-care-timestamp': 'yesterday' }),
    reason: 'stale_timestamp',
    ...hmac,
  },
  {
    name: 'wrong signature',
    send: () => signed(JSON.stringify(body), { 'x-care-signature': '0'.repeat(64) }),
    reason: 'bad_signature',
    ...hmac,
  },
  {
    name: 'wrong signature wins over malformed JSON: the MAC is verified before any parsing',
    send: () =>
      post({ 'x-care-signature': 'f'.repeat(64), 'x-care-timestamp': NOW }, '{"patient":'),
    reason: 'bad_signature',
    ...hmac,
  },
  {
    name: 'empty signature header: the signed path, bad_signature',
    send: () =>
      post({
        'x-care-signature': '',
        'x-care-timestamp': NOW,
        authorization: `Bearer ${world.token('care.write')}`,
      }),
    reason: 'bad_signature',
    ...hmac,
  },
  {
    name: 'upper-case hex is no signature',
    send: () =>
      signed(JSON.stringify(body), {
        'x-care-signature': signatureOf({
          timestamp: NOW,
          body: JSON.stringify(body),
        }).toUpperCase(),
      }),
    reason: 'bad_signature',
    ...hmac,
  },
  {
    name: 'signature over the body alone, without its timestamp',
    send: () =>
      signed(JSON.stringify(body), {
        'x-care-signature': createHmac('sha256', WRITE_SECRET)
          .update(JSON.stringify(body))
          .digest('hex'),
      }),
    reason: 'bad_signature',
    ...hmac,
  },
  {
    name: 'malformed JSON, signed',
    send: () => signed('{"patient":"ann",'),
    reason: 'malformed_body',
    ...hmac,
  },
  {
    name: 'bytes that are no UTF-8, signed: malformed_body',
    send: () => signed(Buffer.from([0x22, 0xc3, 0x28, 0x22])),
    reason: 'malformed_body',
    ...hmac,
  },
  {
    name: 'empty body, signed: malformed_body',
    send: () => signed(''),
    reason: 'malformed_body',
    ...hmac,
  },
  {
    name: 'invalid fields, signed: the author whom the signed body names',
    send: () => signed(JSON.stringify({ ...body, patient: 'a/b' })),
    reason: 'invalid_fields',
    via: 'hmac',
    actor: 'dr-osei',
  },
  {
    name: 'lone surrogate, signed: invalid_fields',
    send: () => signed(JSON.stringify({ ...body, value: 'half \ud83d' })),
    reason: 'invalid_fields',
    via: 'hmac',
    actor: 'dr-osei',
  },
  {
    name: 'unparsable staleAfter, signed: invalid_fields',
    send: () => signed(JSON.stringify({ ...body, staleAfter: 'soon' })),
    reason: 'invalid_fields',
    via: 'hmac',
    actor: 'dr-osei',
  },
  {
    name: 'missing signature and no Bearer',
    send: () => post({}),
    reason: 'missing_signature',
    via: 'none',
    actor: null,
  },
  {
    name: 'another scheme is no Bearer',
    send: () => post({ authorization: 'Basic Y2FyZTpjYXJl' }),
    reason: 'missing_signature',
    via: 'none',
    actor: null,
  },
  {
    name: 'a token in the query is not looked at',
    send: () =>
      world.app.inject({
        method: 'POST',
        url: `/write?access_token=${world.token('care.write')}`,
        payload: JSON.stringify(body),
      }),
    reason: 'missing_signature',
    via: 'none',
    actor: null,
  },
  {
    name: 'Bearer without care.write',
    send: () => bearer('care.read.user care.read.assistant'),
    reason: 'insufficient_scope',
    via: 'bearer',
    actor: 'clinician-1',
  },
  {
    name: 'bad Bearer: not three segments',
    send: () => post({ authorization: 'Bearer nonsense' }),
    reason: 'insufficient_scope',
    via: 'bearer',
    actor: null,
  },
  {
    name: 'bad Bearer: empty',
    send: () => post({ authorization: 'Bearer' }),
    reason: 'insufficient_scope',
    via: 'bearer',
    actor: null,
  },
  {
    name: 'bad Bearer: expired',
    send: () => bearer('care.write', JSON.stringify(body), { lifetimeSeconds: -1 }),
    reason: 'insufficient_scope',
    via: 'bearer',
    actor: null,
  },
  {
    name: 'bad Bearer: for another audience',
    send: () => bearer('care.write', JSON.stringify(body), { audience: 'https://other.test/mcp' }),
    reason: 'insufficient_scope',
    via: 'bearer',
    actor: null,
  },
  {
    name: 'malformed JSON, bearer',
    send: () => bearer('care.write', 'nonsense'),
    reason: 'malformed_body',
    via: 'bearer',
    actor: 'clinician-1',
  },
  {
    name: 'invalid fields, bearer: the verified sub, never the body’s authorId',
    send: () => bearer('care.write', JSON.stringify({ ...body, value: '' })),
    reason: 'invalid_fields',
    via: 'bearer',
    actor: 'clinician-1',
  },
]

describe('401 unauthorized: uniform, names no cause; every refusal adds an audit row', () => {
  test.each(refusals.map((refused) => [refused.name, refused] as const))(
    '%s',
    async (_, refused) => {
      const answer = await refused.send()
      expect(answer.statusCode).toBe(401)
      expect(answer.body).toBe('{"error":"unauthorized"}')
      const { reason, via, actor } = refused
      expect(world.audit.rows).toEqual([{ at: NOW, outcome: 'rejected', reason, via, actor }])
      expect(world.hub.published).toEqual([])
      expect(await world.store.heads({ audiences: ['user', 'assistant'], limit: 9 })).toEqual([])
    },
  )

  test('all refusals are the same, byte for byte and header for header', async () => {
    const seen = new Set<string>()
    for (const { send } of refusals) {
      const answer = await send()
      const { 'x-request-id': _, date: __, ...headers } = answer.headers
      seen.add(JSON.stringify([answer.statusCode, answer.body, Object.entries(headers)]))
    }
    expect(seen.size).toBe(1)
  })

  test('a row never holds a credential, a MAC, a token or a value', async () => {
    for (const { send } of refusals) await send()
    await world.write(body)
    const kept = JSON.stringify(world.audit.rows)
    expect(kept).not.toMatch(/[0-9a-f]{64}/)
    expect(kept).not.toContain(world.token('care.write').slice(0, 20))
    expect(kept).not.toContain(body.value)
  })

  test('a trail that fails changes nothing of the answer', async () => {
    world.audit.add = async () => {
      throw new Error('no trail')
    }
    expect((await post({})).body).toBe('{"error":"unauthorized"}')
  })
})

describe('200', () => {
  test('uri, version, versionHash, writtenAt, subscribers, notified; the audit row is accepted', async () => {
    world.hub.subscribers = 2
    const answer = await world.write(body)
    expect(answer.statusCode).toBe(200)
    expect(answer.json()).toEqual({
      uri: 'care://ann/medication',
      version: 1,
      versionHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      writtenAt: NOW,
      subscribers: 2,
      notified: true,
    })
    expect(world.audit.rows).toEqual([
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
    expect((await world.write(body)).json()).toMatchObject({ subscribers: 0, notified: false })
  })

  test('an optional sha256= prefix is accepted', async () => {
    const payload = JSON.stringify(body)
    const signature = `sha256=${signatureOf({ timestamp: NOW, body: payload })}`
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
      const answer = await world.write(body, { 'content-type': type, 'content-encoding': 'gzip' })
      expect(answer.statusCode).toBe(200)
    },
  )

  test('a body of exactly 262144 bytes is taken', async () => {
    const empty = JSON.stringify({ ...body, value: '' })
    const value = 'x'.repeat(WRITE_BODY_BYTES_MAX - Buffer.byteLength(empty))
    const payload = JSON.stringify({ ...body, value })
    expect(Buffer.byteLength(payload)).toBe(262_144)
    expect((await signed(payload)).statusCode).toBe(200)
    expect((await signed(`${payload} `)).statusCode).toBe(401)
  })

  test('bearer with care.write: the author defaults to the sub, and the actor is the sub in any case', async () => {
    const { authorId: _, authorLabel: __, ...anonymous } = body
    const first = await bearer('care.write', JSON.stringify(anonymous))
    expect(first.json()).toMatchObject({ version: 1 })
    await bearer('care.write', JSON.stringify(body))
    expect(world.hub.published.map(({ record }) => [record.authorId, record.authorLabel])).toEqual([
      ['clinician-1', 'clinician-1'],
      ['dr-osei', 'Dr Osei'],
    ])
    expect(world.audit.rows.map(({ via, actor }) => [via, actor])).toEqual([
      ['bearer', 'clinician-1'],
      ['bearer', 'clinician-1'],
    ])
  })

  test('if the signature header is present the HMAC path is used, whatever else came', async () => {
    await world.write(body, { authorization: 'Bearer nonsense' })
    expect(world.audit.rows).toMatchObject([{ via: 'hmac', reason: 'ok' }])
  })

  test('writtenAt is set by the server clock only', async () => {
    const writtenAt = '1999-01-01T00:00:00.000Z'
    expect((await world.write({ ...body, writtenAt, version: 9 })).json()).toMatchObject({
      writtenAt: NOW,
      version: 1,
    })
  })

  test('audience assistant gives an internal record', async () => {
    const answer = await world.write({ ...body, audience: 'assistant' })
    expect(answer.json().uri).toBe('care-internal://ann/medication')
  })

  test('C7: patient and domain are percent-encoded in the URI where needed', async () => {
    const answer = await world.write({ ...body, patient: 'Ann Ö.', domain: '50%' })
    expect(answer.json().uri).toBe('care://Ann%20%C3%96./50%25')
  })

  test('C14: a signed write that is sent again inside its window returns the first answer and adds no version', async () => {
    world.hub.subscribers = 1
    const first = await world.write(body)
    world.hub.subscribers = 5
    const second = await world.write(body)
    expect(second.body).toBe(first.body)
    expect(world.hub.published).toHaveLength(1)
    expect((await world.store.head({ ...body, audience: 'user' }))?.latestVersion).toBe(1)
  })

  test('C14: the same signed write twice at once is one version and one answer', async () => {
    world.hub.subscribers = 3
    world.hub.during = () => new Promise((resolve) => void setImmediate(resolve))
    const answers = await Promise.all(Array.from({ length: 8 }, () => world.write(body)))
    expect(new Set(answers.map((answer) => answer.body)).size).toBe(1)
    expect(answers[0]?.json()).toMatchObject({ version: 1, subscribers: 3 })
    expect(world.hub.published).toHaveLength(1)
  })
})

describe('record chain', () => {
  test('same audience: version N+1, prevHash set to vN’s hash, subscribers told with the version before', async () => {
    const first = (await world.write(body)).json()
    const second = (await world.write({ ...body, value: 'Take two.' })).json()
    expect([first.version, second.version]).toEqual([1, 2])
    const [one, two] = world.hub.published
    expect(one?.previous).toBeUndefined()
    expect(two?.record.prevHash).toBe(first.versionHash)
    expect(two?.previous?.value).toBe(body.value)
  })

  test('appended, then told, then answered', async () => {
    const seen: string[] = []
    world.hub.during = async (record) => {
      const stored = await world.store.latest(record)
      seen.push(`told of v${stored.kind === 'found' ? stored.record.version : '?'}`)
    }
    const answer = await world.write(body)
    seen.push(`answered ${answer.statusCode}`)
    expect(seen).toEqual(['told of v1', 'answered 200'])
  })

  test('100 writers at once: versions without gaps, one answer each, told in order within each chain', async () => {
    let turns = 0
    world.hub.during = async () => {
      // Later versions would be told first, were their order not kept.
      turns += 1
      for (let wait = 0; wait < 7 - (turns % 7); wait += 1)
        await new Promise((resolve) => void setImmediate(resolve))
    }
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        world.write({ ...body, domain: `d${index % 3}`, value: `Sentence ${index}` }),
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
      const told = world.hub.published
        .filter(({ record }) => record.domain === domain)
        .map(({ record }) => record.version)
      expect(told).toEqual(expected)
    }
    const verdict = (await world.get('/verify')).json()
    expect(verdict).toMatchObject({ versions: 100, intact: true })
  })
})

describe('409 conflict', () => {
  test('audience flip on an existing chain: the chain stays, audit reason store_rejected', async () => {
    await world.write(body)
    const answer = await world.write({ ...body, audience: 'assistant' })
    expect(answer.statusCode).toBe(409)
    expect(answer.json()).toEqual({ error: 'conflict' })
    expect(world.audit.rows.at(-1)).toEqual({
      at: NOW,
      outcome: 'rejected',
      reason: 'store_rejected',
      via: 'hmac',
      actor: 'dr-osei',
    })
    expect((await world.get('/verify')).json()).toMatchObject({ versions: 1 })
    expect(world.hub.published).toHaveLength(1)
  })
})

describe('405 method_not_allowed', () => {
  test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH'] as const)('%s', async (method) => {
    const answer = await world.app.inject({ method, url: '/write' })
    expect(answer.statusCode).toBe(405)
    expect(['', '{"error":"method_not_allowed"}']).toContain(answer.body)
    expect(answer.headers.allow).toContain('POST')
    expect(world.audit.rows).toEqual([])
  })
})

describe('5xx', () => {
  test('500 internal_error: unhandled failure before headers are sent, its text stays inside', async () => {
    world.hub.publish = async () => {
      throw new Error('secret detail')
    }
    const answer = await world.write(body)
    expect(answer.statusCode).toBe(500)
    expect(answer.body).toBe('{"error":"internal_error"}')
  })

  test('503 store_unavailable: the store cannot be written', async () => {
    world.store.append = async () => {
      throw new RecordStoreUnavailable('disk full at /secret/path')
    }
    const answer = await world.write(body)
    expect(answer.statusCode).toBe(503)
    expect(answer.body).toBe('{"error":"store_unavailable"}')
    expect(answer.headers['retry-after']).toBe('5')
  })

  test('a write whose audit row was not kept is no 200; sent again, it is the first version and has its row', async () => {
    const add = world.audit.add.bind(world.audit)
    world.audit.add = async () => {
      throw Object.assign(new Error('disk full'), { name: 'AuditTrailUnavailable' })
    }
    expect((await world.write(body)).statusCode).toBe(503)
    world.audit.add = add
    const again = await world.write(body)
    expect(again.json()).toMatchObject({ version: 1 })
    expect(world.audit.rows).toMatchObject([{ reason: 'ok', uri: 'care://ann/medication' }])
    expect(world.hub.published).toHaveLength(1)
  })

  test('a later version is told although an earlier one could not be', async () => {
    world.hub.during = async ({ version }) => {
      if (version === 1) throw new Error('no session store')
    }
    const answers = await Promise.all([
      world.write(body),
      world.write({ ...body, value: 'Take two.' }),
    ])
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([500, 200])
  })
})
