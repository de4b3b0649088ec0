// Versions behind a place in the order of all commits. A version's place is the number of versions of both audiences before it:
// every append locks both journals' heads. Each part of a reach is read by itself, up to a place before which everything is
// committed, so that what is merged has no gap.
import type { BehindQuery, PlacedVersion } from '../domain/record-store.ts'
import type { RecordSource } from './record-sql.ts'

type PlacedRow = readonly [
  place: number,
  leaf: number,
  patient: string,
  domain: string,
  version: number,
]

/** Before any time that a version may have. */
const BEGINNING = ''

export async function versionsBehind(
  { ask, sql }: RecordSource,
  query: BehindQuery & { readonly to: number },
): Promise<readonly PlacedVersion[]> {
  const { domain, from, limit, reach, sinceIso = BEGINNING, to } = query
  const parts = reach.map(async ({ audience, patient }) => {
    const { all, ofPatient, ofTopic } = sql.of[audience].behind
    const values = [from, to, sinceIso, limit]
    const rows =
      patient === undefined
        ? await ask<PlacedRow>(all, values)
        : domain === undefined
          ? await ask<PlacedRow>(ofPatient, [...values, patient])
          : await ask<PlacedRow>(ofTopic, [...values, patient, domain])
    return rows.map(([place, leaf, of, topic, version]) => ({
      patient: of,
      domain: topic,
      audience,
      version,
      place,
      leaf,
    }))
  })
  const found = (await Promise.all(parts)).flat()
  return found.toSorted((left, right) => left.place - right.place).slice(0, limit)
}
