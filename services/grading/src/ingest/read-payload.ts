import type { Normalised } from '../domain/observation.ts'
import { uploadSchema } from '../wire/upload.ts'
import { isFootballData, readFootballData } from './football-data.ts'
import { normaliseManualUpload } from './manual-upload.ts'
import { normaliseOddsApi, type OddsApiReading } from './the-odds-api.ts'

/** A payload whose form was recognised, or what is wrong with it. */
export type PayloadReading =
  | {
      readonly kind: 'payload'
      readonly form: 'football-data' | 'the-odds-api' | 'manual'
      /** Reads it, slice by slice. */
      readonly read: () => Iterable<Normalised>
    }
  | { readonly kind: 'unreadable'; readonly problem: string }

function parseJson(raw: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(raw).toString('utf8'))
  } catch {
    return undefined
  }
}

/** Recognises what bytes are: a football-data.co.uk CSV, a payload of The Odds API, or an upload of our own. */
export function readPayload(raw: Uint8Array, reading: OddsApiReading): PayloadReading {
  if (isFootballData(raw))
    return { kind: 'payload', form: 'football-data', read: () => readFootballData(raw) }
  const json = parseJson(raw)
  const upload = uploadSchema.safeParse(json)
  if (upload.success)
    return {
      kind: 'payload',
      form: 'manual',
      read: () => [normaliseManualUpload(upload.data, reading.receivedAtSeconds)],
    }
  const isOddsApi =
    Array.isArray(json) || (typeof json === 'object' && json !== null && 'timestamp' in json)
  if (isOddsApi)
    return { kind: 'payload', form: 'the-odds-api', read: () => [normaliseOddsApi(raw, reading)] }
  if (json === undefined)
    return {
      kind: 'unreadable',
      problem: 'neither JSON nor a CSV with a football-data.co.uk header',
    }
  const [issue] = upload.error.issues
  return {
    kind: 'unreadable',
    problem: `not an upload: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`,
  }
}
