// C9: of several processes over one PostgreSQL one shows the journal to its witnesses, each checkpoint once.
import { createNoteSigner } from '@tallystick/hashchain'
import { type WitnessNews, WitnessPush } from '@tallystick/journal-store'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { startWitness, type WitnessServer } from '@tallystick/journal-store/witness-server'
import { manualClock } from '@tallystick/service-kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shareNews } from './adapters/rows/witness-rows.ts'
import { type RunningProcess, startCares, writeAt } from './testing/several-cares.fixture.ts'

// As the processes' BASE_URL and CHECKPOINT_KEY have it.
const signer = createNoteSigner({ keyName: 'care.test/care/user', seed: Buffer.alloc(32, 7) })
const POLL = { interval: 50 }
const reason =
  postgresMissing ?? (process.env['DATABASE_URL'] && 'DATABASE_URL is another’s server')

const at = async (process: RunningProcess, path: string) =>
  (await fetch(`${process.url}${path}`)).text()

describe.skipIf(reason !== undefined)(
  `C9: two processes and a witness${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  () => {
    let witness: WitnessServer
    let cares: Awaited<ReturnType<typeof startCares>>
    let holder: RunningProcess
    let other: RunningProcess
    beforeAll(async () => {
      witness = await startWitness({ name: 'witness.example', logKey: signer.verifierKey })
      const { url, verifierKey: vkey } = witness
      cares = await startCares({ WITNESSES: JSON.stringify([{ url, vkey }]) })
      // Who is first has the lease.
      holder = await cares.start()
      other = await cares.start()
    })
    afterAll(async () => {
      await cares.end()
      await witness.close()
    })
    it('each checkpoint is shown once, whoever wrote, and every process serves what was cosigned', async () => {
      // The first one a process shows itself, too, unless it hears of it sooner: a witness may have seen more.
      await writeAt(other, { value: 'v1' })
      for (const process of [holder, other])
        await expect.poll(() => at(process, '/verify/witnesses'), POLL).toContain('"size":1')
      await expect.poll(witness.seen, POLL).toBe(1)
      // What the other one showed itself may be on its way until the next is seen.
      await writeAt(holder, { value: 'v2' })
      await expect.poll(witness.seen, POLL).toBe(2)
      const before = witness.requests.length
      for (let size = 3; size <= 4; size += 1) {
        await writeAt(size % 2 === 0 ? holder : other, { value: `v${size}` })
        await expect.poll(witness.seen, POLL).toBe(size)
      }
      expect(witness.requests.slice(before)).toEqual(
        [2, 3].map((old) => `POST /witness/add-checkpoint old ${old}`),
      )
      for (const path of ['/verify/witnesses', '/verify/checkpoint?cosigned=yes'])
        await expect
          .poll(async () => (await at(other, path)) === (await at(holder, path)), POLL)
          .toBe(true)
      expect(JSON.parse(await at(other, '/verify/witnesses'))).toMatchObject({
        size: 4,
        witnesses: [{ name: 'witness.example', size: 4 }],
      })
    })

    it('what a witness refuses, every process says', async () => {
      witness.answerInstead(() => ({ status: 422, body: '' }))
      await writeAt(other, { value: 'refused' })
      for (const process of [holder, other])
        await expect
          .poll(() => at(process, '/verify/witnesses'), POLL)
          .toContain('"problem":"forked"')
      witness.answerInstead(undefined)
    })

    it('the next process goes on when the first is killed', async () => {
      const before = witness.requests.length
      holder.kill('SIGKILL')
      await writeAt(other, { value: 'after' })
      await expect.poll(witness.seen, POLL).toBe(6)
      expect(witness.requests.slice(before)).toEqual(['POST /witness/add-checkpoint old 4'])
    })
  },
)

it('C9: a process that hears nothing, as where a hand removes the row, shows the journal itself after ten seconds', async () => {
  const clock = manualClock(0)
  let said: { readonly atMs: number; readonly news: WitnessNews } | undefined
  const { begin, isTurn } = shareNews(
    {
      lease: { epoch: () => undefined, onHeld: () => undefined },
      rows: { read: async () => said, keep: async () => undefined },
      onGrown: () => () => undefined,
    },
    { clock, onError: (error) => expect.unreachable(String(error)) },
  )
  const push = Object.create(WitnessPush.prototype, {
    hear: { value: async () => undefined },
  }) as WitnessPush
  const end = begin(push)
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      clock.advanceMs(1_000)
      await new Promise((resolve) => void setImmediate(resolve))
    }
  }
  await pass(5)
  said = { atMs: clock.unixMs(), news: { problems: {} } }
  await pass(5)
  expect(isTurn()).toBe(false)
  // It stays as it is: of its time it is believed for so long, and what is put back is old.
  await pass(5)
  expect(isTurn()).toBe(true)
  said = { ...said, atMs: clock.unixMs() }
  await pass(1)
  expect(isTurn()).toBe(false)
  end()
})
