/** The sample records, and how they are written: signed, through a running service. */
import { DAY_MS } from '@tallystick/service-kit/clock'
import { z } from 'zod'
import { signedHeaders } from '../adapters/outside/alert-webhook.ts'
import { writeAnswer } from '../wire/write.ts'

const verifyAnswer = z.object({ chains: z.array(z.object({ uri: z.string() })) })

type SeedOptions = {
  /** Of a running service, without a trailing slash. */
  readonly baseUrl: string
  /** Its UTF-8 bytes are the key. */
  readonly writeSecret: string
  /** `care` unless the service has another name. */
  readonly serviceName?: string
}

type SeedOutcome =
  | { readonly kind: 'seeded'; readonly uris: readonly string[] }
  /** Some of the sample chains already exist: nothing was written. */
  | { readonly kind: 'already-there' }

async function isSeeded(baseUrl: string): Promise<boolean> {
  const answer = await fetch(`${baseUrl}/verify`, { headers: { accept: 'application/json' } })
  const { chains } = verifyAnswer.parse(await answer.json())
  const sampled = new Set(sampleRecords.map(({ patient, domain }) => `care://${patient}/${domain}`))
  return chains.some(({ uri }) => sampled.has(uri))
}

/**
 * Writes the sample records one by one through `POST /write` of a running service, unless they exist. Rejects if the
 * service does not answer, or refuses a write.
 */
export async function seedRecords(options: SeedOptions): Promise<SeedOutcome> {
  const { baseUrl, writeSecret, serviceName = 'care' } = options
  if (await isSeeded(baseUrl)) return { kind: 'already-there' }
  const uris = new Set<string>()
  for (const sample of sampleRecords) {
    const { staleAfterDays, ...fields } = sample
    const unixMs = Date.now()
    const staleAfter =
      staleAfterDays === undefined
        ? undefined
        : new Date(unixMs + staleAfterDays * DAY_MS).toISOString()
    const body = { ...fields, language: 'en', staleAfter }
    const answer = await sendSignedWrite({ baseUrl, serviceName, writeSecret, body, unixMs })
    if (!answer.ok) throw new Error(`the service refused a sample record: ${answer.status}`)
    uris.add(writeAnswer.parse(await answer.json()).uri)
  }
  return { kind: 'seeded', uris: [...uris] }
}

/** A signed `POST /write` as any client sends it. */
type SignedWrite = Required<SeedOptions> & {
  readonly body: Readonly<Record<string, string | number | undefined>>
  /** The writer's clock, Unix milliseconds. */
  readonly unixMs: number
}

/** Sends it and returns the answer, whatever its status. Rejects if there is no answer. */
export async function sendSignedWrite(write: SignedWrite): Promise<Response> {
  const body = JSON.stringify(write.body)
  const signed = signedHeaders(write.writeSecret, { ...write, body })
  const headers = { 'content-type': 'application/json', ...signed }
  return await fetch(`${write.baseUrl}/write`, { method: 'POST', headers, body })
}

/** A sample chain: its values become its versions. */
type SampleChain = {
  readonly patient: string
  readonly domain: string
  readonly audience?: 'assistant'
  readonly values: readonly string[]
  readonly authorId: string
  readonly authorLabel: string
  /** Days from writing to the review date; below zero, the record is stale at once. */
  readonly staleAfterDays?: number
  readonly priority?: number
}

const doctor = { authorId: 'dr-osei', authorLabel: 'Dr Osei' }
const nurse = { authorId: 'nurse-lindqvist', authorLabel: 'Nurse Lindqvist' }
const physio = { authorId: 'physio-amari', authorLabel: 'your physiotherapist Amari' }

/**
 * A few patients under pseudonyms: a corrected dose, advice past its review date, and two notes that only an assistant
 * may read.
 */
const sampleChains: readonly SampleChain[] = [
  {
    ...doctor,
    patient: 'heron',
    domain: 'medication',
    values: [
      'Take one tablet of lisinopril 10 mg at breakfast.',
      'Take one tablet of lisinopril 20 mg at breakfast.',
    ],
    staleAfterDays: 90,
    priority: 1,
  },
  {
    ...nurse,
    patient: 'heron',
    domain: 'appointments',
    values: ['Your next visit to the clinic is on Thursday at ten.'],
    staleAfterDays: 14,
  },
  {
    ...doctor,
    patient: 'heron',
    domain: 'care-plan',
    audience: 'assistant',
    values: ['Early signs of memory loss are being looked into; the family has not been told yet.'],
  },
  {
    ...physio,
    patient: 'wren',
    domain: 'exercise',
    values: ['Walk for ten minutes after lunch, with the frame.'],
    staleAfterDays: -3,
  },
  {
    ...nurse,
    patient: 'wren',
    domain: 'diet',
    values: [
      'No grapefruit while you take the new tablets.',
      'No grapefruit and no grapefruit juice while you take the new tablets.',
    ],
    priority: 0.8,
  },
  {
    ...nurse,
    patient: 'wren',
    domain: 'contacts',
    values: ['If you feel dizzy, sit down and ring the day line before you take anything.'],
  },
  {
    ...nurse,
    patient: 'fox',
    domain: 'wound-care',
    values: ['Keep the dressing dry; the nurse changes it on Monday and Friday.'],
    staleAfterDays: 7,
  },
  {
    ...physio,
    patient: 'fox',
    domain: 'risk',
    audience: 'assistant',
    values: ['Fell twice this month; ask every morning whether standing up makes the room turn.'],
    priority: 0.9,
  },
]

/** Every version of the sample, in the order of writing. */
export const sampleRecords = sampleChains.flatMap(({ values, ...chain }) =>
  values.map((value) => ({ ...chain, value })),
)
