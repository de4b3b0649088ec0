import { z } from 'zod'
import { type SampleVersion, sampleRecords } from './sample-records.ts'
import { sendSignedWrite } from './signed-write.ts'

const MS_PER_DAY = 86_400_000

const verifyAnswer = z.object({ chains: z.array(z.object({ uri: z.string() })) })
const writeAnswer = z.object({ uri: z.string(), version: z.int() })

export type SeedOptions = {
  /** Of a running service, without a trailing slash. */
  readonly baseUrl: string
  readonly writeSecret: string
  /** `care` unless the service has another name. */
  readonly serviceName?: string
}

export type SeedOutcome =
  | { readonly kind: 'seeded'; readonly uris: readonly string[] }
  /** Some of the sample's chains are there: nothing was written. */
  | { readonly kind: 'already-there' }

async function isSeeded(baseUrl: string): Promise<boolean> {
  const answer = await fetch(`${baseUrl}/verify`, { headers: { accept: 'application/json' } })
  const { chains } = verifyAnswer.parse(await answer.json())
  const sampled = new Set(sampleRecords.map(({ patient, domain }) => `care://${patient}/${domain}`))
  return chains.some(({ uri }) => sampled.has(uri))
}

function bodyOf(sample: SampleVersion, unixMs: number): Readonly<Record<string, string | number>> {
  const { staleAfterDays, ...fields } = sample
  return staleAfterDays === undefined
    ? fields
    : { ...fields, staleAfter: new Date(unixMs + staleAfterDays * MS_PER_DAY).toISOString() }
}

/**
 * Writes the sample records through `POST /write` of a running service, one after the other, unless they are there.
 * Rejects where the service does not answer, or refuses a write.
 */
export async function seedRecords(options: SeedOptions): Promise<SeedOutcome> {
  const { baseUrl, writeSecret, serviceName = 'care' } = options
  if (await isSeeded(baseUrl)) return { kind: 'already-there' }
  const uris = new Set<string>()
  for (const sample of sampleRecords) {
    const nowMs = Date.now()
    const body = bodyOf(sample, nowMs)
    const answer = await sendSignedWrite({ baseUrl, serviceName, writeSecret, body, unixMs: nowMs })
    if (!answer.ok) throw new Error(`the service refused a sample record: ${answer.status}`)
    uris.add(writeAnswer.parse(await answer.json()).uri)
  }
  return { kind: 'seeded', uris: [...uris] }
}
