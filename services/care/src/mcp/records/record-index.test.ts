// C26: what a person types finds what another wrote, on both engines.

import { createKeyRing } from '@tallystick/hashchain'
import { postgresMissing } from '@tallystick/journal-store/postgres-server'
import { manualClock, Secret } from '@tallystick/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eraseChain, freeChain, openStores } from '../../adapters/open-stores.ts'
import { useRecordServer } from '../../adapters/records/postgres-store.fixture.ts'
import type { RecordStore } from '../../domain/record-store.ts'
import { splitWords } from '../../domain/search-words.ts'
import {
  makeStorePlace,
  readStoreConfig,
  type StorePlace,
} from '../../testing/store-place.fixture.ts'
import { RecordIndex } from './record-index.ts'

const ring = createKeyRing({ activeId: 'key-1', keys: [{ id: 'key-1', key: Buffer.alloc(32, 1) }] })

/** Each record, and what finds it; `not` what does not. */
const SEARCHES: readonly (readonly [value: string, queries: readonly string[], not?: string])[] = [
  ['Termin bei Dr. Köhler.', ['kohler', 'koehler', 'KÖHLER', 'Köhler', 'Ko\u0308hler'], 'kahler'],
  ['Frau Mueller ruft an.', ['müller', 'mueller', 'muller']],
  ['Nach dem Frühstück in die Straße.', ['fruhstuck', 'fruehstueck', 'STRASSE', 'strasse']],
  ['Café au lait.', ['cafe', 'CAFÉ']],
  ['Prendre l’ibuprofène le soir.', ['ibuprofene', 'IBUPROFÈNE', 'libuprofene'], 'paracetamol'],
  ['每天服用阿司匹林一次。', ['服用', '阿司匹林', '每天服用', '一'], '布洛芬'],
  ['خذ الدواء صباحا', ['دواء', 'الدواء', 'والدواء', 'وبالدواء', 'دَواء'], 'ماء'],
  ['قرصان ٥٠٠ ملغ دواؤها جديد', ['500']],
  ['กินยาแก้ปวดหลังอาหาร', ['ยา', 'แก้ปวด', 'ย'], 'น้ำ'],
  ['Take co-codamol at night.', ['cocodamol', 'co-codamol', 'co codamol', 'codamol', 'CO‑CODAMOL']],
  ['İlaç sabah alınır.', ['ilaç', 'İLAÇ', 'ilac', 'ILAÇ', 'alinir']],
  ['Łukasz: ibuprom.', ['lukasz', 'ŁUKASZ']],
  ['ジゴキシンを飲む', ['ジゴキシン', 'ｼﾞｺﾞｷｼﾝ', '飲む', 'じごきしん', '飲ム'], 'シコキ'],
  ['くすりは朝、コーヒーの後', ['クスリ', 'ｸｽﾘ', 'くすり', 'こーひー'], 'グスリ'],
  ['दवा सुबह लें', ['दवा'], 'दवी'],
  ['Ωμέγα τρία ΓΙΑΤΡΟΣ', ['ωμεγα', 'γιατρος', 'Ωμέγα']],
]

describe('C26: the index of words, on SQLite', () => {
  describeSearches('sqlite')
})
describe.skipIf(postgresMissing !== undefined)(
  `C26: the index of words, on PostgreSQL${postgresMissing === undefined ? '' : ` (skipped: ${postgresMissing})`}`,
  () => {
    useRecordServer()
    describeSearches('postgres')
  },
)

const named = (patient: string, audience: 'user' | 'assistant' = 'user') => ({
  patient,
  domain: 'note',
  audience,
  authorId: 'dr',
  authorLabel: 'Dr N',
  staleAfter: undefined,
  priority: undefined,
})

function describeSearches(engine: 'sqlite' | 'postgres'): void {
  let place: StorePlace
  let store: RecordStore
  let index: RecordIndex
  let close: () => Promise<void>
  const config = () => ({
    ...place.environment,
    ...readStoreConfig(place),
    SEAL_KEYS: ring,
    CHECKPOINT_KEY: new Secret(Buffer.alloc(32, 7).toString('base64')),
    BASE_URL: 'http://care.test',
    SERVICE_NAME: 'care',
  })
  const open = async (): Promise<void> => {
    const clock = manualClock(Date.UTC(2026, 10, 28))
    const stores = await openStores(config(), { clock, onProblem: () => undefined })
    ;({ records: store } = stores)
    index = new RecordIndex({ store, clock, chainsMax: 1_000 })
    close = () => stores.close()
  }
  beforeEach(async () => {
    place = await makeStorePlace({ isOnDisk: true, engine })
    await open()
  })
  afterEach(async () => {
    await close()
    await place.remove()
  })
  const write = (patient: string, value: string, audience: 'user' | 'assistant' = 'user') =>
    store.append({ ...named(patient, audience), value })
  const listPatients = async (query: string, audience: 'user' | 'assistant' = 'user') => {
    const { found } = await index.find(splitWords(query), [{ audience }], 20)
    return found.map(({ slot }) => slot.patient)
  }

  it('finds what is spelled another way, and not what is not there', async () => {
    for (const [at, [value]] of SEARCHES.entries()) await write(`p${at}`, value)
    for (const [at, [, queries, not]] of SEARCHES.entries()) {
      for (const query of queries)
        expect([query, await listPatients(query)]).toEqual([query, [`p${at}`]])
      expect([not, await listPatients(not ?? '')]).toEqual([not, []])
    }
  })

  it('knows every write before it, and nothing of what was corrected, erased, freed or of the other audience', async () => {
    await write('ann', 'Take aspirin.')
    expect(await listPatients('aspirin')).toEqual(['ann'])
    await write('ann', 'Take ibuprofen.')
    await write('bo', 'Take ibuprofen.')
    await write('cy', 'A secret.', 'assistant')
    expect([await listPatients('aspirin'), await listPatients('ibuprofen')]).toEqual([
      [],
      ['ann', 'bo'],
    ])
    expect([await listPatients('secret'), await listPatients('secret', 'assistant')]).toEqual([
      [],
      ['cy'],
    ])
    const by = { at: '2026-11-28T09:00:00.000Z', actor: 'kin', reason: 'test' }
    const slot = { domain: 'note', audience: 'user' } as const
    await eraseChain(config(), { slot: { ...slot, patient: 'ann' }, by }, ring)
    await freeChain(config(), { slot: { ...slot, patient: 'bo' }, by })
    expect(await listPatients('ibuprofen')).toEqual([])
    await write('bo', 'Take paracetamol.')
    expect([await listPatients('ibuprofen'), await listPatients('paracetamol')]).toEqual([
      [],
      ['bo'],
    ])
    await store.append({ ...named('bo'), value: '', status: 'entered-in-error' })
    expect([await listPatients('paracetamol'), await listPatients('bo')]).toEqual([[], []])
    await write('bo', 'Take paracetamol.')
    await close()
    await open()
    expect([await listPatients('ibuprofen'), await listPatients('paracetamol')]).toEqual([
      [],
      ['bo'],
    ])
  })

  it('reads ahead in small pages with a rest behind each, and a search waits for none', async () => {
    await Promise.all(Array.from({ length: 100 }, (_, at) => write(`p${at}`, 'Take aspirin.')))
    const clock = manualClock(0)
    let pages = 0
    const counted: RecordStore = {
      ...store,
      heads: (query) => {
        pages += 1
        return store.heads(query)
      },
    }
    index = new RecordIndex({ store: counted, clock, chainsMax: 1_000 })
    const filled = index.fill()
    for (const page of [1, 2]) {
      await expect.poll(() => clock.pendingCount()).toBe(1)
      expect(pages).toBe(page)
      clock.advanceMs(10)
    }
    await expect.poll(() => clock.pendingCount()).toBe(1)
    expect(await listPatients('p99')).toEqual(['p99'])
    await filled
    expect(clock.pendingCount()).toBe(0)
  })
}
