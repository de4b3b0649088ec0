/**
 * The names that the store holds, as far as a write must know them (C38): topics whose chain of before has another spelling of
 * their name, and patients by what a reader may take them for. In memory, read at the start: names are public or few, and no
 * database folds them.
 */
import { areAlike, isWritableName, looksOf, normalName, normalSlot } from '../wire/record-uri.ts'
import { AUDIENCES } from '../wire/records.ts'
import type { RecordStore, TopicName } from './record-store.ts'
import { type Reach, reachWithin } from './scopes.ts'

/** Chains read at once: a millisecond. */
const PAGE_CHAINS = 1_000
/** Patients that are remembered: some 40 MB. Beyond them nobody is asked whom he means. */
const PATIENTS_MAX = 200_000
/** Names that a writer is asked about, and topics of one patient that are looked at. */
const [ASKED_MAX, TOPICS_MAX] = [5, 50]

type NamesStore = Pick<RecordStore, 'chains' | 'head' | 'names'>

const nameTopic = (topic: TopicName): string => {
  const { domain, patient } = normalSlot({ ...topic, audience: 'user' })
  return `${patient}|${domain}`
}

/** Whether both names of a chain may be written today. */
export const isNamedAsToday = ({ domain, patient }: TopicName): boolean =>
  isWritableName(patient) && isWritableName(domain)

export class KnownNames {
  readonly #store: NamesStore
  readonly #patients = new Set<string>()
  readonly #byLook = new Map<string, Set<string>>()
  /** By a topic's normal name, those that were written otherwise before. */
  readonly #spelledOtherwise = new Map<string, TopicName[]>()

  private constructor(store: NamesStore) {
    this.#store = store
  }

  /** Rejects with RecordStoreUnavailable. */
  static async read(store: NamesStore): Promise<KnownNames> {
    const names = new KnownNames(store)
    for (const audience of AUDIENCES)
      for (let after: number | undefined = 0; after !== undefined; ) {
        const page: Awaited<ReturnType<NamesStore['chains']>> = await store.chains({
          audience,
          after,
          limit: PAGE_CHAINS,
        })
        for (const { slot } of page) names.add(slot)
        after = page.length < PAGE_CHAINS ? undefined : page.at(-1)?.number
      }
    return names
  }

  /** A chain has this name. */
  add({ domain, patient }: TopicName): void {
    if (normalName(patient) !== patient || normalName(domain) !== domain) {
      const key = nameTopic({ patient, domain })
      const known = this.#spelledOtherwise.get(key) ?? []
      this.#spelledOtherwise.set(key, [...known, { patient, domain }])
    }
    if (this.#patients.has(patient) || this.#patients.size >= PATIENTS_MAX) return
    this.#patients.add(patient)
    for (const look of looksOf(patient))
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

  /** Existing names within a reach that somebody may take for those of a topic that has just begun. */
  async alike(topic: TopicName, within: readonly Reach[]): Promise<readonly string[]> {
    const { domain, patient } = topic
    const isKnown = this.#patients.has(patient)
    const looks = isKnown
      ? []
      : looksOf(patient).flatMap((look) => [...(this.#byLook.get(look) ?? [])])
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
    of: 'patient' | 'domain',
    query: { readonly prefix: string; readonly limit: number },
    reach: readonly Reach[],
  ): Promise<readonly string[]> {
    return reach.length === 0 ? Promise.resolve([]) : this.#store.names({ of, ...query, reach })
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
