// Proofs over HTTP (C9): what anyone may check of the journals, and what only those who may read a record.
import {
  leafHash,
  parseCheckpoint,
  verifyConsistency,
  verifyInclusion,
} from '@tallystick/hashchain'
import { describe, expect, test } from 'vitest'
import { type ExportLine, exportLine, type ProofAnswer } from '../wire/verify.ts'
import { BOTH, useVerify } from './verify.fixture.ts'

const suite = useVerify()
const { withToken } = suite
const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')

async function askProof(query: string, headers: Record<string, string> = {}) {
  const answer = await suite.fixture.get(`/verify/proof?${query}`, headers)
  expect(answer.statusCode).toBe(200)
  return answer.json<ProofAnswer>()
}

async function askHead(journal: 'user' | 'assistant', headers: Record<string, string> = {}) {
  const { body } = await suite.fixture.get(`/verify/checkpoint?journal=${journal}`, headers)
  const parsed = parseCheckpoint(body.slice(0, body.lastIndexOf('\n\n') + 1))
  if (parsed.kind !== 'checkpoint') throw new Error(body)
  return parsed.checkpoint
}

async function versionLines(headers: Record<string, string>) {
  const { body } = await suite.fixture.get('/verify/export', headers)
  const lines = body
    .trimEnd()
    .split('\n')
    .map((line): ExportLine => exportLine.parse(JSON.parse(line)))
  return lines.filter((line) => line.kind === 'version')
}

function holds(proof: ProofAnswer, leaf = Buffer.alloc(0)): boolean {
  const { size } = proof
  const options = { size, rootHash: bytes(proof.rootHash), proof: proof.proof.map(bytes) }
  if (proof.kind === 'inclusion')
    return verifyInclusion({ ...options, index: proof.index, leafHash: leaf })
  const { oldRootHash, oldSize } = proof
  return verifyConsistency({ ...options, oldSize, oldRootHash: bytes(oldRootHash) })
}

describe('C9: proofs', () => {
  test('anyone can prove that the speakable journal only grew, from a checkpoint that he kept to the newest', async () => {
    const stored = await askHead('user')
    for (const value of ['Three tablets.', 'Four tablets.'])
      await suite.fixture.write({
        patient: 'ann',
        domain: 'medication',
        value,
        authorId: 'dr-osei',
      })
    const newest = await askHead('user')
    const proof = await askProof(`oldSize=${stored.size}&size=${newest.size}`)
    expect(proof).toMatchObject({
      kind: 'consistency',
      journal: 'user',
      origin: newest.origin,
      oldSize: stored.size,
      size: newest.size,
      oldRootHash: Buffer.from(stored.rootHash).toString('hex'),
      rootHash: Buffer.from(newest.rootHash).toString('hex'),
    })
    for (let oldSize = 1; oldSize <= newest.size; oldSize += 1)
      for (let size = oldSize; size <= newest.size; size += 1)
        expect(holds(await askProof(`oldSize=${oldSize}&size=${size}`))).toBe(true)
    expect(await askProof('oldSize=0')).toMatchObject({ proof: [], size: newest.size })
  })

  test('who has an exported entry proves that it is in the signed journal, without a token', async () => {
    const lines = await versionLines(withToken('care.read.user'))
    expect(lines).toHaveLength(3)
    for (const { entry, leafIndex } of lines) {
      const leaf = Buffer.from(leafHash(Buffer.from(entry)))
      const proof = await askProof(`index=${leafIndex}`)
      expect(holds(proof, leaf)).toBe(true)
      expect(holds(proof, Buffer.from(leafHash(Buffer.from(`${entry} `))))).toBe(false)
    }
  })

  test('who may read a record asks by its URI: an older version, the newest, and an internal one', async () => {
    const lines = await versionLines(withToken(BOTH))
    for (const uri of [
      'care://ann/medication/1',
      'care://ann/medication',
      'care-internal://ann/plan',
    ]) {
      const proof = await askProof(`uri=${encodeURIComponent(uri)}`, withToken(BOTH))
      const meant = lines.findLast((line) => `${line.uri}/`.startsWith(`${uri}/`))
      const leaf = Buffer.from(leafHash(Buffer.from(meant?.entry ?? '')))
      expect(proof).toMatchObject({ leafHash: leaf.toString('hex'), index: meant?.leafIndex })
      expect(holds(proof, leaf)).toBe(true)
    }
    const ofHousehold = withToken('care.read.user:ann')
    expect(await askProof('uri=care://ann/diet', ofHousehold)).toMatchObject({ kind: 'inclusion' })
  })

  test('the journal of internal records is for its scope: 401 without a token, 403 with another’s', async () => {
    for (const query of ['oldSize=1', 'index=0']) {
      const ask = (headers?: Record<string, string>) =>
        suite.fixture.get(`/verify/proof?journal=assistant&${query}`, headers)
      expect((await ask()).statusCode).toBe(401)
      expect((await ask(withToken('care.read.user'))).statusCode).toBe(403)
      const answer = await ask(withToken('care.read.assistant'))
      expect(answer.json()).toMatchObject({ journal: 'assistant', size: 1 })
    }
  })

  test('attack: a stranger asks where a record stands in the journal, which beside dated checkpoints tells when it was written', async () => {
    for (const uri of ['care://ann/medication', 'care-internal://ann/plan', 'nonsense']) {
      const answer = await suite.fixture.get(`/verify/proof?uri=${uri}`)
      expect(answer.statusCode).toBe(401)
    }
  })

  test('attack: C30: a principal asks for proofs of records that it may not read: the same 404 as for none, and no look-up', async () => {
    const { store } = suite.fixture
    const calls: unknown[] = []
    const leaf = store.leaf.bind(store)
    store.leaf = (slot, version) => {
      calls.push(slot)
      return leaf(slot, version)
    }
    const hidden = ['care-internal://ann/plan', 'care-internal://ann/none', 'care-internal://no/1']
    const seen = new Set<string>()
    const bodies = [...hidden, 'nonsense', 'care://ann/none'].map(async (uri) => {
      const answer = await suite.fixture.get(
        `/verify/proof?uri=${uri}`,
        withToken('care.read.user'),
      )
      const { 'x-request-id': _, date: __, 'content-length': ___, ...headers } = answer.headers
      seen.add(JSON.stringify([answer.statusCode, answer.body.replace(uri, ''), headers]))
    })
    await Promise.all(bodies)
    expect([...seen]).toHaveLength(1)
    expect([...seen][0]).toContain('not_found')
    expect(calls).toEqual([{ patient: 'ann', domain: 'none', audience: 'user' }])
    const stranger = withToken('care.read.user:somebody')
    const answer = await suite.fixture.get('/verify/proof?uri=care://ann/diet', stranger)
    expect(answer.statusCode).toBe(404)
    expect(calls).toHaveLength(1)
  })
})

describe('400', () => {
  test('beyond_journal: sizes and indexes that the journal does not have', async () => {
    const beyond = [
      'oldSize=1&size=9',
      'index=3',
      'index=0&size=0',
      'oldSize=3&size=2',
      'oldSize=9',
    ]
    for (const query of beyond) {
      const answer = await suite.fixture.get(`/verify/proof?${query}`)
      expect([query, answer.statusCode]).toEqual([query, 400])
      expect(answer.json()).toEqual({ error: 'beyond_journal', size: 3 })
    }
  })

  test('invalid_request: not one question, or no whole numbers', async () => {
    for (const query of [
      '',
      'size=3',
      'oldSize=1&index=0',
      'index=-1',
      'index=1.5',
      'index=01',
      'oldSize=9007199254740993',
      'index=0&journal=both',
      'uri=care://ann/diet&uri=care://ann/medication',
    ]) {
      const answer = await suite.fixture.get(`/verify/proof?${query}`)
      expect([query, answer.statusCode]).toEqual([query, 400])
      expect(answer.json()).toMatchObject({ error: 'invalid_request' })
    }
  })
})
