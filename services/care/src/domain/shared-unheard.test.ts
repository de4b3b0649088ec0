// C29 over several processes: which hears, which judges and which raises the alert, over one file that stands for the database.
import type { Lease } from '@tallystick/journal-store'
import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openMemoryStore } from '../adapters/records/sqlite-store.fixture.ts'
import { openSqliteSideRows, type SideRows } from '../adapters/rows/side-rows.ts'
import { openUnheardRows } from '../adapters/rows/unheard-rows.ts'
import { sampleRecord } from './record-store.fixture.ts'
import type { RecordStore } from './record-store.ts'
import { createSharedUnheard } from './shared-unheard.ts'
import type { UnheardCorrections } from './unheard-corrections.ts'

const START_MS = Date.UTC(2026, 5, 1, 8)
const WAIT_MS = 600_000
const TEA = 'care://ann/tea'

const listed = (unheard: UnheardCorrections) =>
  unheard.alerted().map(({ uri, version }) => `${uri} ${version}`)

describe('C29: of several processes', () => {
  let clock: ManualClock
  let store: RecordStore
  let side: SideRows
  /** The process that holds the lease, and how often it was taken. */
  let [holder, epoch] = ['', 0]
  let alerts: string[]
  let opened: UnheardCorrections[]
  const give = (name: string): void => {
    ;[holder, epoch] = [name, epoch + 1]
  }
  const makeLease = (name: string): Pick<Lease, 'epoch' | 'require'> => ({
    epoch: () => (holder === name ? epoch : undefined),
    require: async (_query, mine) => {
      if (mine !== epoch) throw new Error('another process took the lease')
    },
  })
  const start = async (name: string): Promise<UnheardCorrections> => {
    const lease = makeLease(name)
    const unheard = createSharedUnheard({
      clock,
      lease,
      rows: openUnheardRows(side, lease),
      records: store,
      waitMs: WAIT_MS,
      onAlert: ({ uri, version }) => alerts.push(`${name} ${uri} ${version}`),
      onFailure: (error) => {
        throw error
      },
    })
    opened.push(unheard)
    await unheard.restore({ unheard: [], judgedTo: undefined }, store)
    return unheard
  }
  const write = async (value: string): Promise<void> => {
    await store.append(sampleRecord({ patient: 'ann', domain: 'tea', value }))
  }
  /** Some looks of every process. */
  const look = () => clock.advanceMsSettled(3_000)

  beforeEach(async () => {
    clock = manualClock(START_MS)
    store = await openMemoryStore(clock)
    side = openSqliteSideRows(':memory:')
    ;[alerts, opened] = [[], []]
    give('one')
  })
  afterEach(async () => {
    for (const unheard of opened) unheard.stop()
    await side.end()
    await store.close()
  })

  it('one raises the alert, and it stands in the list of each until one of them hears it', async () => {
    const [left, right] = [await start('one'), await start('other')]
    await write('ten')
    await write('twenty')
    await look()
    await clock.advanceMsSettled(WAIT_MS)
    expect(alerts).toEqual([`one ${TEA} 2`])
    expect([listed(left), listed(right)]).toEqual([[`${TEA} 2`], [`${TEA} 2`]])
    right.heard(TEA, 1)
    await look()
    expect(listed(left)).toEqual([`${TEA} 2`])
    right.heard(TEA, 2)
    await look()
    expect([listed(left), listed(right)]).toEqual([[], []])
    expect(alerts).toHaveLength(1)
  })

  it('what another process heard before it was judged is no alert; a later correction is', async () => {
    const [left, right] = [await start('one'), await start('other')]
    await write('ten')
    await write('twenty')
    right.heard(TEA, 2)
    await look()
    await clock.advanceMsSettled(WAIT_MS)
    expect([alerts, listed(left), listed(right)]).toEqual([[], [], []])
    await write('thirty')
    await look()
    await clock.advanceMsSettled(WAIT_MS)
    expect(alerts).toEqual([`one ${TEA} 3`])
  })

  it('the next holder judges what the last one had not, and raises again what that may not have told', async () => {
    await start('one')
    await start('other')
    give('nobody')
    await write('ten')
    await write('twenty')
    await clock.advanceMsSettled(WAIT_MS)
    expect(alerts).toEqual([])
    give('other')
    await look()
    expect(alerts).toEqual([`other ${TEA} 2`])
    give('one')
    await look()
    expect(alerts).toEqual([`other ${TEA} 2`, `one ${TEA} 2`])
  })
})
