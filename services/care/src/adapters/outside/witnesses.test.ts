// The whole service beside a witness on a port, which shares no code with it (C9, C42).
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createNoteSigner, openCosignature, openNote } from '@tallystick/hashchain'
import { startWitness, type WitnessServer } from '@tallystick/journal-store/witness-server'
import { manualClock, systemClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCare } from '../../command/run-care.ts'
import { testEnvironment } from '../../testing/care.fixture.ts'
import { type RunningCare, startRunningCare } from '../../testing/running-care.fixture.ts'
import { isOnPostgres } from '../../testing/store-place.fixture.ts'
import { openWitnesses } from './witnesses.ts'

// As the test service's BASE_URL and CHECKPOINT_KEY have it.
const signer = createNoteSigner({ keyName: 'care.test/care/user', seed: Buffer.alloc(32, 7) })
const record = { patient: 'ann', domain: 'tea', authorId: 'dr-osei' }

const ignore = (): void => undefined

type Shown = {
  readonly size: number
  readonly checkpoint?: string
  readonly witnesses: readonly {
    readonly name: string
    readonly size?: number
    readonly cosignedAt?: string
    readonly problem?: string
  }[]
}

describe('C9: witnesses of the speakable journal', () => {
  let witness: WitnessServer
  let care: RunningCare
  beforeEach(async () => {
    witness = await startWitness({ name: 'witness.example', logKey: signer.verifierKey })
  })
  afterEach(async () => {
    await care.remove()
    await witness.close()
  })
  const start = async (place?: RunningCare['place']): Promise<void> => {
    const { url, verifierKey: vkey } = witness
    const environment = { WITNESSES: JSON.stringify([{ url, vkey }]) }
    care = await startRunningCare({ environment, ...(place && { place }) })
  }
  const shown = async (): Promise<Shown> =>
    (await (await fetch(`${care.url}/verify/witnesses`)).json()) as Shown
  const untilSeen = async (size: number): Promise<void> => {
    await expect.poll(() => witness.seen()).toBe(size)
  }
  const sizeSeen = async () => (await shown()).witnesses[0]?.size

  it('each write of a speakable record is cosigned, and anyone sees by whom, also after a restart', async () => {
    await start()
    expect(await shown()).toMatchObject({ size: 0, witnesses: [{ name: 'witness.example' }] })
    const none = await fetch(`${care.url}/verify/checkpoint?cosigned=yes`)
    expect(none.status).toBe(404)
    await care.write({ ...record, value: 'Take ten drops.' })
    await care.write({ ...record, domain: 'plan', value: 'Not told yet.', audience: 'assistant' })
    await expect.poll(sizeSeen).toBe(1)
    await care.write({ ...record, value: 'Take twelve drops.' })
    await expect.poll(sizeSeen).toBe(2)
    const note = await (await fetch(`${care.url}/verify/checkpoint?cosigned=yes`)).text()
    expect(openNote({ note, verifierKey: signer.verifierKey }).kind).toBe('opened')
    const { verifierKey } = witness
    expect(openCosignature({ note, verifierKey })).toMatchObject({ kind: 'opened' })
    // Internal writes move nothing: the witness was asked for two sizes.
    expect(witness.requests).toEqual([
      'POST /witness/add-checkpoint old 0',
      'POST /witness/add-checkpoint old 1',
    ])
    await care.stop()
    await start(care.place)
    expect(await shown()).toMatchObject({
      size: 2,
      checkpoint: note,
      witnesses: [{ name: 'witness.example', size: 2, cosignedAt: expect.any(String) as string }],
    })
    // Whether the store was put back is asked anew at each start (C42).
    expect(witness.requests.slice(2)).toEqual(['POST /witness/add-checkpoint old 2'])
  })

  /** Runs `care accept-backup` on the stopped service's store. */
  const acceptBackup = async (): Promise<string> => {
    const printed: string[] = []
    const { url, verifierKey: vkey } = witness
    const code = await runCare({
      arguments: ['accept-backup'],
      environment: {
        ...testEnvironment,
        ...care.place.environment,
        WITNESSES: JSON.stringify([{ url, vkey }]),
      },
      clock: systemClock,
      stdin: (async function* () {})(),
      print: (line) => printed.push(line),
      printError: (line) => printed.push(line),
    })
    expect(code).toBe(0)
    return printed.join('\n')
  }
  const readiness = async () => {
    const answer = await fetch(`${care.url}/ready`)
    const { checks } = (await answer.json()) as {
      checks: { store: { kind: string; reason?: string; details: { sentence?: string } } }
    }
    return { status: answer.status, ...checks.store }
  }
  const expectNothingServed = async (): Promise<void> => {
    const bearer = { authorization: `Bearer ${care.token('care.read.user care.write')}` }
    const initialize = {
      method: 'POST',
      headers: { ...bearer, 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}',
    }
    for (const [path, init] of [
      ['/mcp', initialize],
      ['/mcp/2026-07-28', initialize],
      ['/verify', {}],
      ['/verify?uri=care://ann/tea', { headers: bearer }],
      ['/verify/export', { headers: bearer }],
      ['/verify/checkpoint', {}],
      ['/verify/proof?oldSize=1', {}],
      ['/unheard', { headers: bearer }],
    ] as const) {
      const answer = await fetch(`${care.url}${path}`, init)
      expect([path, answer.status, await answer.json()]).toMatchObject([
        path,
        503,
        { error: 'store_behind' },
      ])
    }
    const refused = await care.write({ ...record, value: 'Take twenty drops.' })
    expect([refused.status, await refused.json()]).toMatchObject([503, { error: 'store_behind' }])
    expect((await fetch(`${care.url}/health`)).status).toBe(200)
  }

  describe.skipIf(isOnPostgres)('C42: the whole folder is put back to yesterday', () => {
    let copy: string
    beforeEach(async () => {
      copy = mkdtempSync(join(tmpdir(), 'care-day-'))
      await start()
      await care.write({ ...record, value: 'Take ten drops.' })
      await untilSeen(1)
      await care.stop()
      cpSync(dirname(care.place.environment.DATABASE_PATH), copy, { recursive: true })
      await start(care.place)
      await care.write({ ...record, value: 'Take twelve drops.' })
      await care.write({ ...record, value: 'Take no drops any more.' })
      await untilSeen(3)
      await care.stop()
    })
    afterEach(() => rmSync(copy, { recursive: true }))
    const putBack = (): void => {
      const { DATABASE_PATH: path } = care.place.environment
      for (const name of readdirSync(dirname(path)))
        if (name.startsWith(basename(path))) rmSync(join(dirname(path), name))
      cpSync(copy, dirname(path), { recursive: true })
    }

    it('attack: a store behind its witness is found at the start, before anything is served or acknowledged', async () => {
      putBack()
      await start(care.place)
      const { details, ...ready } = await readiness()
      expect(ready).toEqual({ kind: 'not-ready', status: 503, reason: 'store_behind' })
      expect(details.sentence).toContain(
        'witness.example has seen 3 entries of the user journal, 1 of',
      )
      await expectNothingServed()
      expect((await shown()).witnesses).toMatchObject([{ problem: 'rolled_back' }])
      expect(await (await fetch(`${care.url}/metrics`)).text()).toMatch(
        /care_troubles_total\{kind="witness-rolled_back"\} 1/,
      )
      expect(witness.seen()).toBe(3)
    })

    it('what the witnesses cosigned is beside the database: it tells of a restored database without them', async () => {
      const { DATABASE_PATH: path } = care.place.environment
      const cosigned = readFileSync(`${path}.user-cosigned`)
      putBack()
      writeFileSync(`${path}.user-cosigned`, cosigned)
      witness.answerInstead(() => ({ status: 503, body: '' }))
      await start(care.place)
      expect(await readiness()).toMatchObject({ status: 503, reason: 'store_behind' })
      await expectNothingServed()
    })

    it('accept-backup counts what the witness has seen beyond the store; then it is served again, but not put back further', async () => {
      putBack()
      expect(await acceptBackup()).toContain(
        'user journal: 1 entries accepted; the last checkpoint counted 1.\nassistant journal: 0 entries accepted; the last checkpoint counted 0.\nThe witness witness.example has seen 3: 2 are given up.',
      )
      await start(care.place)
      expect((await readiness()).status).toBe(200)
      for (const value of ['Take one.', 'Take two.', 'Take three.'])
        expect((await care.write({ ...record, value })).status).toBe(200)
      await care.stop()
      await start(care.place)
      expect((await readiness()).status).toBe(200)
      await expect.poll(async () => (await shown()).witnesses[0]?.problem).toBe('forked')
      expect(witness.seen()).toBe(3)
    })

    it('attack: a store that was put back and written on without its witness is found by the other entries', async () => {
      putBack()
      care = await startRunningCare({ place: care.place })
      for (const value of ['Take one.', 'Take two.', 'Take three.'])
        await care.write({ ...record, value })
      await care.stop()
      await start(care.place)
      expect((await readiness()).details.sentence).toContain('other ones than the 4 that are here')
      await expectNothingServed()
      await care.stop()
      expect(await acceptBackup()).toContain(
        'The witness witness.example has seen 3, and not all of them are these: up to 3 are given up.',
      )
      await start(care.place)
      expect((await readiness()).status).toBe(200)
    })
  })

  it('C42: a witness that does not answer holds the start up for 4 s, and no longer', async () => {
    await start()
    const journal = care.service.store.journals.user
    await care.write({ ...record, value: 'Take ten drops.' })
    witness.answerInstead(() => 'nothing')
    const clock = manualClock(0)
    const { url, verifierKey: vkey } = witness
    const witnesses = openWitnesses({
      config: { WITNESSES: [{ url, vkey }], DATABASE_PATH: ':memory:' },
      journal,
      clock,
      chance: () => 0,
      onProblem: ignore,
      onError: ignore,
    })
    let isCompared = false
    const compared = witnesses.compared().then(() => (isCompared = true))
    await expect.poll(() => witness.requests.length).toBe(2)
    clock.advanceMs(3_999)
    await nextTurn()
    expect(isCompared).toBe(false)
    clock.advanceMs(1)
    await compared
    await witnesses.close()
  })

  it('C42: an empty store under a key that witnesses know acknowledges not even its first record', async () => {
    await start()
    await care.write({ ...record, value: 'Take ten drops.' })
    await care.write({ ...record, value: 'Take twelve drops.' })
    await expect.poll(sizeSeen).toBe(2)
    await care.remove()
    await start()
    expect((await readiness()).status).toBe(200)
    const refused = await care.write({ ...record, value: 'Take twenty drops.' })
    expect([refused.status, await refused.json()]).toMatchObject([503, { error: 'store_behind' }])
    expect((await readiness()).status).toBe(503)
    await expectNothingServed()
  })
})
