// The whole service beside a witness on a port, which shares no code with it (C9).
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createNoteSigner, openCosignature, openNote } from '@tallystick/hashchain'
import { startWitness, type WitnessServer } from '@tallystick/journal-store/witness-server'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RunningCare, startRunningCare } from '../testing/running-care.fixture.ts'
import { isOnPostgres } from '../testing/store-place.fixture.ts'

// As the test service's BASE_URL and CHECKPOINT_KEY have it.
const signer = createNoteSigner({ keyName: 'care.test/care/user', seed: Buffer.alloc(32, 7) })
const record = { patient: 'ann', domain: 'tea', authorId: 'dr-osei' }

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
    expect(witness.asked).toEqual([
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
    expect(witness.asked).toHaveLength(2)
  })

  it.skipIf(isOnPostgres)(
    'attack: the files are put back to an earlier day and written on: the witness refuses, and it is shown',
    async () => {
      await start()
      await care.write({ ...record, value: 'Take ten drops.' })
      await expect.poll(sizeSeen).toBe(1)
      await care.stop()
      const { place } = care
      const { DATABASE_PATH: path } = place.environment
      const copy = mkdtempSync(join(tmpdir(), 'care-day-'))
      try {
        cpSync(dirname(path), copy, { recursive: true })
        await start(place)
        await care.write({ ...record, value: 'Take twelve drops.' })
        await expect.poll(sizeSeen).toBe(2)
        await care.stop()
        for (const name of readdirSync(dirname(path)))
          if (name.startsWith(basename(path))) rmSync(join(dirname(path), name))
        cpSync(copy, dirname(path), { recursive: true })
      } finally {
        rmSync(copy, { recursive: true })
      }
      await start(place)
      // The journal of that day is the one that is kept as cosigned; the first write of the other future tells.
      await care.write({ ...record, value: 'Take twenty drops.' })
      await expect.poll(async () => (await shown()).witnesses[0]?.problem).toBe('forked')
      expect(witness.seen()).toBe(2)
      const metrics = await (await fetch(`${care.url}/metrics`)).text()
      expect(metrics).toMatch(/care_troubles_total\{kind="witness-forked"\} [1-9]/)
    },
  )
})
