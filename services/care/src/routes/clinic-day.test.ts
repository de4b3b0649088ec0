// A clinic's day on the write path: nobody needs a secret that all share, nobody writes in another's name, and nobody corrects
// what somebody else has corrected meanwhile.
import { afterEach, describe, expect, it } from 'vitest'
import {
  type CareFixture,
  joinSignature,
  startCareFixture,
  testConfig,
  WRITE_SECRET,
} from '../testing/care.fixture.ts'

const tea = { patient: 'ann', domain: 'tea', value: 'No sugar.' }
const NEXT_SECRET = 'the-next-write-secret-0123456789abcdef'

let fixture: CareFixture
afterEach(() => fixture.close())

const start = async (environment: Readonly<Record<string, string>> = {}): Promise<void> => {
  fixture = await startCareFixture({ environment })
}

const writeWith = (scope: string, sub: string, body: object) =>
  fixture.app.inject({
    method: 'POST',
    url: '/write',
    headers: { authorization: `Bearer ${fixture.token(scope, { sub })}` },
    payload: JSON.stringify(body),
  })
const writeAs = (sub: string, body: object) => writeWith('care.write', sub, body)

const signedWith = (secret: string, body: object) => {
  const payload = JSON.stringify(body)
  const timestamp = new Date(fixture.clock.unixMs()).toISOString()
  const signature = joinSignature({ timestamp, body: payload, secret })
  const headers = { 'x-care-signature': signature, 'x-care-timestamp': timestamp }
  return fixture.app.inject({ method: 'POST', url: '/write', payload, headers })
}

describe('C38, A17: names at every door', () => {
  it('a scope that names nobody who may be written about gives nothing', async () => {
    await start()
    for (const name of ['.', '..', 'a%0Ab', 'a%1B', 'a%E2%80%AE', 'a%E2%80%A8', '%20a'])
      for (const scope of [`care.write:${name}`, 'care.write']) {
        const patient = decodeURIComponent(name)
        expect((await writeWith(scope, 'kin', { ...tea, patient })).statusCode).toBe(401)
      }
    expect(fixture.audit.rows.map(({ reason }) => reason)).toContain('invalid_fields')
    expect(fixture.hub.published).toEqual([])
  })

  it('a name from before is read on, in one line of the report', async () => {
    await start()
    const old = { patient: '..', domain: 'a\n\u001b\u202eb', audience: 'user' as const }
    const author = {
      authorId: 'dr',
      authorLabel: 'Dr N',
      staleAfter: undefined,
      priority: undefined,
    }
    await fixture.store.append({ ...old, ...author, value: 'No sugar.' })
    const uri = 'care://../a%0A%1B%E2%80%AEb'
    const chain = await fixture.get(`/verify?uri=${encodeURIComponent(uri)}`)
    expect(chain.json()).toMatchObject({ uri, intact: true })
    const report = await fixture.get('/verify', { accept: 'text/plain' })
    expect(report.body).toContain(`\nINTACT ${uri} 1 version(s)\n`)
  })
})

describe('expectedVersion: 409 when somebody was faster', () => {
  it('attack: two clinicians correct one version at once; one is told, and nothing of his is stored', async () => {
    await start()
    await writeAs('dr-osei', tea)
    const [first, second] = await Promise.all([
      writeAs('dr-osei', { ...tea, value: 'Ten drops.', expectedVersion: 1 }),
      writeAs('dr-lind', { ...tea, value: 'Twelve drops.', expectedVersion: 1 }),
    ])
    expect(first?.json()).toMatchObject({ version: 2 })
    expect(second?.statusCode).toBe(409)
    expect(second?.json()).toEqual({ error: 'version_conflict', version: 2 })
    expect(fixture.audit.rows).toContainEqual(
      expect.objectContaining({ reason: 'store_rejected', actor: 'dr-lind' }),
    )
    expect((await writeAs('dr-lind', { ...tea, expectedVersion: 2 })).json()).toMatchObject({
      version: 3,
    })
  })

  it('0 means that there is none yet; without it any version is followed; anything but a whole number is invalid_fields', async () => {
    await start()
    expect((await writeAs('dr-osei', { ...tea, expectedVersion: 0 })).statusCode).toBe(200)
    expect((await writeAs('dr-osei', { ...tea, expectedVersion: 0 })).statusCode).toBe(409)
    expect((await writeAs('dr-osei', { ...tea, expectedVersion: null })).statusCode).toBe(200)
    for (const expectedVersion of [-1, 1.5, '2', true, {}])
      expect((await writeAs('dr-osei', { ...tea, expectedVersion })).statusCode).toBe(401)
    expect(fixture.audit.rows.at(-1)).toMatchObject({ reason: 'invalid_fields' })
  })
})

describe('C33: BEARER_AUTHOR=sub', () => {
  it('attack: a writer with a token signs with another’s name', async () => {
    await start({ BEARER_AUTHOR: 'sub' })
    expect((await writeAs('dr-lind', { ...tea, authorId: 'dr-osei' })).statusCode).toBe(401)
    expect(fixture.audit.rows).toMatchObject([{ reason: 'invalid_fields', actor: 'dr-lind' }])
    for (const body of [tea, { ...tea, authorId: 'dr-lind', authorLabel: 'Dr Lind' }])
      expect((await writeAs('dr-lind', body)).statusCode).toBe(200)
  })

  it('is off by default, and never holds for a signed write, whose secret names nobody', async () => {
    await start()
    expect((await writeAs('dr-lind', { ...tea, authorId: 'dr-osei' })).statusCode).toBe(200)
    await fixture.close()
    await start({ BEARER_AUTHOR: 'sub' })
    expect((await fixture.write({ ...tea, authorId: 'dr-osei' })).statusCode).toBe(200)
  })
})

describe('C46: whose name is shown', () => {
  const slot = { ...tea, audience: 'user' } as const
  const labels = { BEARER_AUTHOR: 'sub', AUTHOR_LABELS: '{"dr-nwosu":"Dr Nwosu"}' }
  const shown = async () => {
    const found = await fixture.store.latest(slot)
    return found.kind === 'found' ? found.record.authorLabel : found.kind
  }

  it('attack: a relative signs with the clinician’s name, however it is spelled', async () => {
    await start(labels)
    const fullWidth = 'Ｄｒ Ｎｗｏｓｕ'
    const alike = ['Dr Nwоsu', 'Dr. Nwosu!', 'Dr\u2800Nwosu', 'DRΝWOSU']
    for (const authorLabel of [
      ...alike,
      'Dr Nwosu',
      'DR  NWOSU ',
      fullWidth,
      'Dr N\u200bwosu',
      'dr-nwosu',
    ])
      expect((await writeAs('kin', { ...tea, authorLabel })).statusCode).toBe(401)
    expect(fixture.audit.rows.at(-1)).toMatchObject({ reason: 'invalid_fields', actor: 'kin' })
    // A name that nobody owns is not refused, and is not shown either.
    expect((await writeAs('kin', { ...tea, authorLabel: 'Dr Lind' })).statusCode).toBe(200)
    expect(await shown()).toBe('kin')
  })

  it('the operator’s table says it, and without it the principal stands', async () => {
    await start(labels)
    for (const body of [tea, { ...tea, authorLabel: 'Dr Nwosu' }, { ...tea, authorLabel: 'N.' }]) {
      expect((await writeAs('dr-nwosu', body)).statusCode).toBe(200)
      expect(await shown()).toBe('Dr Nwosu')
    }
  })

  it('by default labels are claims', async () => {
    await start()
    expect((await writeAs('kin', { ...tea, authorLabel: 'Dr Nwosu' })).statusCode).toBe(200)
    expect(await shown()).toBe('Dr Nwosu')
  })

  it('a table where two share a name, or that nothing reads, does not start', async () => {
    await start()
    for (const [AUTHOR_LABELS, BEARER_AUTHOR] of [
      ['{"dr-nwosu":"Dr Nwosu","kin":"dr nwosu"}', 'sub'],
      ['{"dr-nwosu":"Dr\\nNwosu"}', 'sub'],
      ['{"dr-nwosu":"Dr Nwosu"}', 'any'],
    ] as const)
      expect(() => testConfig({ AUTHOR_LABELS, BEARER_AUTHOR })).toThrow('AUTHOR_LABELS')
  })
})

describe('C47: who writes internal records', () => {
  const rule = { ...tea, audience: 'assistant' }
  const refused = { reason: 'insufficient_scope', actor: 'kin' }

  it('attack: a relative plants a rule for the assistant, and closes a topic to the clinician', async () => {
    await start()
    const kin = 'care.read.user:ann care.write:ann'
    for (const domain of ['assistant-rules', 'medication'])
      expect((await writeWith(kin, 'kin', { ...rule, domain })).statusCode).toBe(401)
    expect(fixture.audit.rows).toMatchObject([refused, refused])
    expect((await writeAs('dr-osei', { ...tea, domain: 'medication' })).statusCode).toBe(200)
    expect((await writeWith(kin, 'kin', tea)).statusCode).toBe(200)
    // Another patient's scope, or an audience's that reads speakable records, does not help.
    const other = `${kin} care.read.user care.read.assistant:wren`
    expect((await writeWith(other, 'kin', { ...rule, domain: 'plan' })).statusCode).toBe(401)
    for (const scope of ['care.write:ann care.read.assistant:ann', 'care.write'])
      expect((await writeWith(scope, 'nurse', { ...rule, domain: 'plan' })).statusCode).toBe(200)
  })

  it('attack: a writer who may not read learns where internal records are, and at which version', async () => {
    await start()
    await writeAs('dr-osei', rule)
    const answers: object[] = []
    for (const scope of ['care.write:ann', 'care.write'])
      for (const domain of ['tea', 'nothing'])
        for (const expectedVersion of [0, 1, 9]) {
          const body = { ...rule, domain, expectedVersion }
          const { statusCode, body: answer } = await writeWith(scope, 'kin', body)
          answers.push({ statusCode, answer })
        }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers).toContainEqual({ statusCode: 401, answer: '{"error":"unauthorized"}' })
    expect(fixture.audit.rows.slice(1)).toEqual(answers.map(() => expect.objectContaining(refused)))
    const seen = { ...rule, expectedVersion: 9 }
    const reader = await writeWith('care.write care.read.assistant:ann', 'dr-osei', seen)
    expect(reader.json()).toEqual({ error: 'version_conflict', version: 1 })
  })
})

describe('a ring of write secrets', () => {
  const body = { ...tea, authorId: 'dr-osei' }

  it('every secret of the ring signs, before and after the change, and none outside it', async () => {
    await start({ WRITE_SECRET: `${NEXT_SECRET}\n${WRITE_SECRET}` })
    for (const secret of [WRITE_SECRET, NEXT_SECRET])
      expect((await signedWith(secret, body)).statusCode).toBe(200)
    for (const secret of [`${NEXT_SECRET}\n${WRITE_SECRET}`, `${WRITE_SECRET}x`])
      expect((await signedWith(secret, body)).statusCode).toBe(401)
    expect(fixture.audit.rows.at(-1)).toMatchObject({ reason: 'bad_signature' })
    await fixture.close()
    await start({ WRITE_SECRET: NEXT_SECRET })
    expect((await signedWith(WRITE_SECRET, body)).statusCode).toBe(401)
  })

  it('C15: a write that is sent again adds one audit row, which says so', async () => {
    await start({ WRITE_SECRET: `${NEXT_SECRET}\n${WRITE_SECRET}` })
    for (let times = 0; times < 3; times += 1)
      expect((await signedWith(WRITE_SECRET, body)).json()).toMatchObject({ version: 1 })
    expect(fixture.audit.rows.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ['accepted', 'ok'],
      ['accepted', 'repeated'],
      ['accepted', 'repeated'],
    ])
  })

  it('attack: a name, an id or a label of 257 bytes is refused as invalid_fields', async () => {
    await start()
    for (const field of ['patient', 'domain', 'authorId', 'authorLabel']) {
      const long = { ...body, [field]: `${'ö'.repeat(128)}x` }
      expect((await signedWith(WRITE_SECRET, long)).statusCode).toBe(401)
      expect(fixture.audit.rows.at(-1)).toMatchObject({ reason: 'invalid_fields' })
    }
  })
})
