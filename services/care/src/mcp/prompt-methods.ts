/** `prompts/list` and `prompts/get`: `brief_carer` and `whats_changed` (C12). */
import type { Result } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { isoTimeMs } from '../domain/iso-time.ts'
import { isRecordName } from '../wire/record-uri.ts'
import { type CallContext, canSee } from './call-context.ts'
import { readChainPage } from './chain-page.ts'
import { changesSince, type PatientChanges } from './changes-since.ts'
import { RPC_CODES, RpcFailure } from './json-rpc.ts'
import { readVisible, recordText } from './record-view.ts'
import { cursorParams, parseParams } from './request-params.ts'

const PROMPTS = [
  {
    name: 'brief_carer',
    title: 'Brief a carer',
    description: 'Everything about a patient that may be spoken, each with its age.',
    arguments: [{ name: 'patient', description: 'Whose records', required: true }],
  },
  {
    name: 'whats_changed',
    title: 'What has changed',
    description:
      'The revisions of a patient’s records since a time, with the previous values, so that what was said can be taken back.',
    arguments: [
      { name: 'patient', description: 'Whose records', required: true },
      { name: 'since', description: 'ISO 8601 time; everything without it', required: false },
    ],
  },
] as const

/** A patient as arguments name one. */
export const patientName = z
  .string()
  .refine(isRecordName, { message: 'expected a name without "/" and "|"' })
/** A time as `since` takes it. */
export const sinceTime = z.string().refine((text) => isoTimeMs(text) !== undefined, {
  message: 'expected an ISO 8601 time with its offset, or a date',
})

const getParams = z.object({
  name: z.string(),
  arguments: z.record(z.string(), z.string()).optional(),
})
const briefArguments = z.object({ arguments: z.object({ patient: patientName }) })
const changedArguments = z.object({
  arguments: z.object({ patient: patientName, since: sinceTime.optional() }),
})

/** Pages of chains that one brief reads: more domains than any patient has. */
const BRIEF_PAGES_MAX = 10

/** The two prompts, in one page. */
export async function listPrompts(_context: CallContext, params: unknown): Promise<Result> {
  parseParams(cursorParams, params)
  return { prompts: PROMPTS }
}

/** Fills a prompt with what the caller may see. */
export async function getPrompt(context: CallContext, params: unknown): Promise<Result> {
  const { name } = parseParams(getParams, params)
  if (name === 'brief_carer') {
    const { patient } = parseParams(briefArguments, params).arguments
    return promptResult('What may be said', await briefText(context, patient))
  }
  if (name === 'whats_changed') {
    const query = parseParams(changedArguments, params).arguments
    return promptResult('What has changed', changedText(query, await changesSince(context, query)))
  }
  throw new RpcFailure(RPC_CODES.invalidParams, 'params.name: unknown prompt')
}

function promptResult(description: string, text: string): Result {
  return { description, messages: [{ role: 'user', content: { type: 'text', text } }] }
}

/** Speakable records only, whatever the caller's scopes: what a brief holds may be said aloud. */
async function briefText(context: CallContext, patient: string): Promise<string> {
  const lines: string[] = []
  let cursor: string | undefined
  for (let page = 0; page < BRIEF_PAGES_MAX; page += 1) {
    const found = await readChainPage(context, { audiences: ['user'], cursor, patient })
    if (!canSee(context, 'user')) break
    for (const head of found.heads) lines.push(await briefLine(context, head))
    cursor = found.nextCursor
    if (cursor === undefined) break
  }
  const records = lines.length === 0 ? ['Nothing is recorded that may be said.'] : lines
  return [
    `Brief a carer about ${patient}, in plain words. All of this may be spoken; where a line says that it is stale, say its age aloud.`,
    ...records,
  ].join('\n\n')
}

async function briefLine(
  context: CallContext,
  slot: { readonly patient: string; readonly domain: string },
): Promise<string> {
  const uri = { slot: { ...slot, audience: 'user' as const }, isAudio: false }
  const outcome = await readVisible(context, uri)
  return outcome.kind === 'found'
    ? `${slot.domain}: ${recordText(context, outcome.visible.record)}`
    : `${slot.domain}: this record failed verification and is left out.`
}

function changedText(
  query: { readonly patient: string; readonly since?: string | undefined },
  { changed, failed }: PatientChanges,
): string {
  const count = changed.reduce((sum, { revisions }) => sum + revisions, 0)
  const when = query.since === undefined ? '' : ` since ${query.since}`
  const facts = changed.map(({ record, uri, revisions, previousValue, withdrawn, retraction }) => ({
    uri,
    domain: record.domain,
    audience: record.audience,
    version: record.version,
    revisions,
    value: record.value,
    previousValue,
    withdrawn,
    authorLabel: record.authorLabel,
    writtenAt: record.writtenAt,
    ...(retraction === undefined ? {} : { retraction }),
  }))
  return [
    `${count} ${count === 1 ? 'revision' : 'revisions'} of the records of ${query.patient}${when}.`,
    'Say each retraction first, then what holds now. Records of audience "assistant" are never spoken. Records under "failed" did not pass verification: say nothing of them.',
    JSON.stringify({ count, changed: facts, failed }, undefined, 1),
  ].join('\n\n')
}
