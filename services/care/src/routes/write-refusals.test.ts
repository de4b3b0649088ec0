// Every way in which `POST /write` refuses, and that none can be told from another.
import { createHmac } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  type CareFixture,
  joinSignature,
  startCareFixture,
  WRITE_SECRET,
} from '../testing/care.fixture.ts'
import type { AuditRow } from '../wire/write.ts'
import { WRITE_BODY_BYTES_MAX } from '../wire/write-limits.ts'
import { body, NOW, writesTo } from './write.fixture.ts'

/** One for all: what is refused leaves nothing but its row. */
let fixture: CareFixture
beforeAll(async () => {
  fixture = await startCareFixture()
})
afterAll(() => fixture.close())
beforeEach(() => {
  fixture.audit.rows.length = 0
})
const { post, signed, bearer, atSecond } = writesTo(() => fixture)

type Refused = {
  readonly name: string
  readonly send: () => Promise<LightMyRequestResponse>
} & Pick<AuditRow, 'reason' | 'via' | 'actor'>

const hmac = { via: 'hmac', actor: null } as const
const nobody = { via: 'bearer', actor: null } as const
const clinician = { via: 'bearer', actor: 'clinician-1' } as const

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
    ...nobody,
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
    send: () => post({ 'x-care-signature': joinSignature({ timestamp: '', body: '' }) }),
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
    name: 'unparsable timestamp: stale_timestamp, even with a wrong signature',
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
        authorization: `Bearer ${fixture.token('care.write')}`,
      }),
    reason: 'bad_signature',
    ...hmac,
  },
  {
    name: 'upper-case hex is not a signature',
    send: () =>
      signed(JSON.stringify(body), {
        'x-care-signature': joinSignature({
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
    name: 'bytes that are not UTF-8, signed: malformed_body',
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
    name: 'invalid fields, signed: the author named by the signed body',
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
    name: 'another scheme is not Bearer',
    send: () => post({ authorization: 'Basic Y2FyZTpjYXJl' }),
    reason: 'missing_signature',
    via: 'none',
    actor: null,
  },
  {
    name: 'a token in the query is ignored',
    send: () =>
      fixture.app.inject({
        method: 'POST',
        url: `/write?access_token=${fixture.token('care.write')}`,
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
    ...clinician,
  },
  {
    name: 'C24: Bearer with care.write for another patient',
    send: () => bearer('care.write:wren care.read.user'),
    reason: 'insufficient_scope',
    ...clinician,
  },
  {
    name: 'bad Bearer: not three segments',
    send: () => post({ authorization: 'Bearer nonsense' }),
    reason: 'insufficient_scope',
    ...nobody,
  },
  {
    name: 'bad Bearer: empty',
    send: () => post({ authorization: 'Bearer' }),
    reason: 'insufficient_scope',
    ...nobody,
  },
  {
    name: 'bad Bearer: a valid token and another word',
    send: () => post({ authorization: `Bearer ${fixture.token('care.write')} x` }),
    reason: 'insufficient_scope',
    ...nobody,
  },
  {
    name: 'bad Bearer: expired',
    send: () => bearer('care.write', JSON.stringify(body), { lifetimeSeconds: -1 }),
    reason: 'insufficient_scope',
    ...nobody,
  },
  {
    name: 'bad Bearer: for another audience',
    send: () => bearer('care.write', JSON.stringify(body), { audience: 'https://other.test/mcp' }),
    reason: 'insufficient_scope',
    ...nobody,
  },
  {
    name: 'malformed JSON, bearer',
    send: () => bearer('care.write', 'nonsense'),
    reason: 'malformed_body',
    ...clinician,
  },
  {
    name: 'invalid fields, bearer: the verified sub, never the body’s authorId',
    send: () => bearer('care.write', JSON.stringify({ ...body, value: '' })),
    reason: 'invalid_fields',
    ...clinician,
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
      expect(fixture.audit.rows).toEqual([{ at: NOW, outcome: 'rejected', reason, via, actor }])
      expect(fixture.hub.published).toEqual([])
      const reach = [{ audience: 'user' }, { audience: 'assistant' }] as const
      expect(await fixture.store.heads({ reach, limit: 9 })).toEqual([])
    },
  )

  test('all refusals are identical, byte for byte and header for header', async () => {
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
    const accepting = await startCareFixture()
    await accepting.write(body)
    const stored = JSON.stringify([...fixture.audit.rows, ...accepting.audit.rows])
    await accepting.close()
    expect(stored).not.toMatch(/[0-9a-f]{64}/)
    expect(stored).not.toContain(fixture.token('care.write').slice(0, 20))
    expect(stored).not.toContain(body.value)
  })

  test('a failing trail does not change the answer', async () => {
    const add = fixture.audit.add.bind(fixture.audit)
    fixture.audit.add = async () => {
      fixture.audit.add = add
      throw new Error('no trail')
    }
    expect((await post({})).body).toBe('{"error":"unauthorized"}')
  })
})
