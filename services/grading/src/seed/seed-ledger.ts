import type { GradingStore } from '../domain/grading-store.ts'
import { readFootballData } from '../ingest/football-data.ts'
import { ingestPayload, type PayloadAccount } from '../ingest/ingest-payload.ts'
import { SYNTHETIC_FEED, syntheticFixtures } from './synthetic-fixtures.ts'

/** Matches with results: enough for every band to have some, made and imported within a second. */
const PAST_MATCHES = 2_000
const COMING_MATCHES = 40

/** What seeding did. */
export type SeedOutcome =
  | { readonly kind: 'seeded'; readonly account: PayloadAccount }
  /** The ledger has entries already: nothing was written. */
  | { readonly kind: 'already-there' }

/** Fills an empty ledger with synthetic fixtures through the real importer. Never touches one that has entries. */
export async function seedLedger(options: {
  readonly store: GradingStore
  readonly nowSeconds: number
  readonly pastMatches?: number
  readonly comingMatches?: number
}): Promise<SeedOutcome> {
  const { store, nowSeconds, pastMatches = PAST_MATCHES, comingMatches = COMING_MATCHES } = options
  const { size } = await store.head()
  if (size > 0) return { kind: 'already-there' }
  const raw = Buffer.from(syntheticFixtures({ nowSeconds, pastMatches, comingMatches }))
  const account = await ingestPayload({
    store,
    raw,
    receivedAtSeconds: Math.floor(nowSeconds),
    read: () => readFootballData(raw, SYNTHETIC_FEED),
  })
  return { kind: 'seeded', account }
}
