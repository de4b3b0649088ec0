/**
 * The names that the store holds, as far as a write must know them (C38): topics whose chain of before has another spelling of
 * their name, and patients by what a reader may take them for. In memory, read at the start: names are public or few, and no
 * database folds them.
 */

import { AUDIENCES } from '../wire/audience.ts'
import { areAlike, isWritableName, listLooks, normalName, normalSlot } from '../wire/record-uri.ts'
import { placeBehind, type RecordStore, type TopicName } from './record-store.ts'
import { type Reach, reachWithin } from './scopes.ts'

/** Chains read at once: a millisecond. */
const PAGE_CHAINS = 1_000
/** Patients that are remembered: some 40 MB. Beyond them nobody is asked whom he means. */
const PATIENTS_MAX = 200_000
/** Names that a writer is asked about, and topics of one patient that are looked at. */
const [ASKED_MAX, TOPICS_MAX] = [5, 50]

type NamesStore = Pick<RecordStore, 'behind' | 'chains' | 'head' | 'journals' | 'names'>

/** Of chains that were there when the process began. */
const AT_START = -1
const EVERYTHING = AUDIENCES.map((audience) => ({ audience }))

const nameTopic = (topic: TopicName): string => {
  const { domain, patient } = normalSlot({ ...topic, audience: 'user' })
  return `${patient}|${domain}`
}

/** Whether both names of a chain may be written today. */
export const isNamedAsToday = ({ domain, patient }: TopicName): boolean =>
  isWritableName(patient) && isWritableName(domain)

export class KnownNames {
  readonly #store: NamesStore
  /** With the place of the first version, as far as is known. */
  readonly #patients = new Map<string, number>()
  readonly #byLook = new Map<string, Set<string>>()
  /** By a topic's normal name, those that were written otherwise before. */
  readonly #spelledOtherwise = new Map<string, TopicName[]>()

  /** What was written before it is known. */
  #place = 0
  #following: Promise<unknown> = Promise.resolve()

  private constructor(store: NamesStore) {
    this.#store = store
  }

  /** Rejects with RecordStoreUnavailable. */
  static async read(store: NamesStore): Promise<KnownNames> {
    const names = new KnownNames(store)
    names.#place = placeBehind(store.journals)
    for (const audience of AUDIENCES)
      for (let after: number | undefined = 0; after !== undefined; ) {
        const page: Awaited<ReturnType<NamesStore['chains']>> = await store.chains({
          audience,
          after,
          limit: PAGE_CHAINS,
        })
        for (const { slot } of page) names.#add(slot, AT_START)
        after = page.length < PAGE_CHAINS ? undefined : page.at(-1)?.number
      }
    return names
  }

  /** Takes up the names that were written before a place since the last time, whichever process wrote them. */
  async #follow(to: number): Promise<void> {
    while (this.#place < to) {
      const query = { reach: EVERYTHING, isListChange: true, from: this.#place, to }
      const rows = await this.#store.behind({ ...query, limit: PAGE_CHAINS })
      for (const row of rows) this.#add(row, row.place)
      this.#place = rows.length < PAGE_CHAINS ? to : (rows.at(-1)?.place ?? to) + 1
    }
  }

  /** A chain has this name, since the version of a place. */
  #add({ domain, patient }: TopicName, place: number): void {
    if (normalName(patient) !== patient || normalName(domain) !== domain) {
      const key = nameTopic({ patient, domain })
      const known = this.#spelledOtherwise.get(key) ?? []
      this.#spelledOtherwise.set(key, [...known, { patient, domain }])
    }
    if (this.#patients.has(patient) || this.#patients.size >= PATIENTS_MAX) return
    this.#patients.set(patient, place)
    for (const look of listLooks(patient))
      this.#byLook.set(look, (this.#byLook.get(look) ?? new Set()).add(patient))
  }

  /**
   * Whether a topic that has no chain stands under another spelling: a write would begin a second one beside it, and who reads the
   * first would never hear of it.
   */
  async isSpelledOtherwise(topic: TopicName): Promise<boolean> {
    const others = this.#spelledOtherwise.get(nameTopic(topic))
    if (others === undefined || (await this.#exists(topic))) return false
    for (const other of others) if (await this.#exists(other)) return true
    return false
  }

  /**
   * Existing names within a reach that somebody may take for those of a topic that has just begun, with the version of that place,
   * or before now. Rejects with RecordStoreUnavailable.
   */
  async alike(
    topic: TopicName,
    {
      place = placeBehind(this.#store.journals),
      within,
    }: { readonly place?: number | undefined; readonly within: readonly Reach[] },
  ): Promise<readonly string[]> {
    const { domain, patient } = topic
    const following = this.#following.then(() => this.#follow(place))
    this.#following = following.catch(() => undefined)
    await following
    const isKnown = (this.#patients.get(patient) ?? place) < place
    this.#add(topic, place)
    const looks = isKnown
      ? []
      : listLooks(patient).flatMap((look) => [...(this.#byLook.get(look) ?? [])])
    const others = [...new Set(looks)].filter((other) => areAlike(other, patient))
    const found: string[] = []
    for (const other of others) {
      if (found.length >= ASKED_MAX) break
      // As far as the writer may know, and if it is there still.
      const [first] = await this.#names('patient', { prefix: other, limit: 1 }, within)
      if (first === other) found.push(other)
    }
    const topics = await this.#names(
      'domain',
      { prefix: '', limit: TOPICS_MAX },
      reachWithin(within, patient),
    )
    const alike = topics.filter((other) => areAlike(other, domain)).slice(0, ASKED_MAX)
    return [...found, ...alike]
  }

  #names(
    field: 'patient' | 'domain',
    query: { readonly prefix: string; readonly limit: number },
    reach: readonly Reach[],
  ): Promise<readonly string[]> {
    return reach.length === 0
      ? Promise.resolve([])
      : this.#store.names({ nameKind: field, ...query, reach })
  }

  async #exists(topic: TopicName): Promise<boolean> {
    for (const audience of AUDIENCES)
      if (isSpelledSo(await this.#store.head({ ...topic, audience }), topic)) return true
    return false
  }
}

/** The store finds a chain by the normal form of a name, too. */
const isSpelledSo = (found: TopicName | undefined, { domain, patient }: TopicName): boolean =>
  found?.patient === patient && found.domain === domain
