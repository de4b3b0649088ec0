/** `prompts/list` and `prompts/get`: `brief_carer` and `whats_changed` (C12). */
import type { GetPromptRequestParams, Result } from '@modelcontextprotocol/sdk/types.js'
import { parseParams, RPC_CODES, RpcFailure } from '@tallystick/service-kit/mcp'
import { reachWithin, readReach } from '../../domain/scopes.ts'
import { briefCarerParams, type ChangesQuery, whatsChangedParams } from '../../wire/mcp.ts'
import { jsonText, lineText } from '../../wire/text-of-others.ts'
import { say, sayCount, type Texts, textsIn } from '../../wire/texts.ts'
import { changesSince, type PatientChanges } from '../records/changes-since.ts'
import {
  type CallContext,
  readChainPage,
  readVisible,
  recordText,
} from '../records/visible-records.ts'

const CURSOR = { name: 'cursor', description: 'cursorWhat', required: false } as const
const PATIENT = { name: 'patient', description: 'patientWhat', required: true } as const

/** The prompts of `prompts/list`, which shows people their titles and descriptions in the service's language (C37). */
export const PROMPTS = [
  {
    name: 'brief_carer',
    title: 'briefTitle',
    description: 'briefWhat',
    arguments: [PATIENT, CURSOR],
  },
  {
    name: 'whats_changed',
    title: 'changesTitle',
    description: 'changesWhat',
    arguments: [PATIENT, { name: 'since', description: 'sinceWhat', required: false }, CURSOR],
  },
] as const

export async function listPrompts({ language }: CallContext): Promise<Result> {
  const texts = textsIn(language)
  const prompts = PROMPTS.map(({ name, title, description, arguments: fields }) => ({
    name,
    title: say(texts, title),
    description: say(texts, description),
    arguments: fields.map((each) => ({ ...each, description: say(texts, each.description) })),
  }))
  return { prompts }
}

export async function getPrompt(
  context: CallContext,
  params: GetPromptRequestParams,
): Promise<Result> {
  const { name } = params
  const texts = textsIn(context.language)
  if (name === 'brief_carer') {
    const query = parseParams(briefCarerParams, params).arguments
    return promptResult(say(texts, 'saidTitle'), await briefText(context, query))
  }
  if (name === 'whats_changed') {
    const query = parseParams(whatsChangedParams, params).arguments
    const changes = await changesSince(context, query)
    return promptResult(say(texts, 'changesTitle'), changedText(texts, query, changes))
  }
  throw new RpcFailure(RPC_CODES.invalidParams, 'params.name: unknown prompt')
}

function promptResult(description: string, text: string): Result {
  return { description, messages: [{ role: 'user', content: { type: 'text', text } }] }
}

/** Only speakable records, whatever the caller's scopes, since anything in a brief may be said aloud. */
async function briefText(
  context: CallContext,
  { patient, cursor }: { readonly patient: string; readonly cursor?: string | undefined },
): Promise<string> {
  const speakable = readReach(context.principal.scopes).filter(
    ({ audience }) => audience === 'user',
  )
  const reach = reachWithin(speakable, patient)
  const { heads, nextCursor } = await readChainPage(context, { reach, cursor })
  const lines: string[] = []
  for (const head of heads) lines.push(await briefLine(context, head))
  const texts = textsIn(context.language)
  const records = lines.length === 0 ? [say(texts, 'briefEmpty')] : lines
  return [
    say(texts, 'brief', { patient: lineText(patient) }),
    texts.data,
    ...records,
    ...more(texts, nextCursor),
  ].join('\n\n')
}

/** How to get the next page, for the prompt's reader. */
const more = (texts: Texts, nextCursor: string | undefined): readonly string[] =>
  nextCursor === undefined ? [] : [say(texts, 'briefMore', { cursor: nextCursor })]

async function briefLine(
  context: CallContext,
  slot: { readonly patient: string; readonly domain: string },
): Promise<string> {
  const uri = { slot: { ...slot, audience: 'user' as const }, isAudio: false }
  const outcome = await readVisible(context, uri)
  return outcome.kind === 'found'
    ? `${lineText(slot.domain)}: ${recordText(context, outcome)}`
    : `${lineText(slot.domain)}: ${say(textsIn(context.language), 'briefUnverified')}`
}

function changedText(texts: Texts, query: ChangesQuery, changes: PatientChanges): string {
  const { changed, failed, nextCursor, revisions } = changes
  const since = query.since === undefined ? '' : say(texts, 'since', { time: query.since })
  const facts = changed.map(({ record: _record, ...shown }) => shown)
  return [
    sayCount(texts, 'changedOf', { count: revisions, patient: lineText(query.patient), since }),
    say(texts, 'changedHow'),
    texts.data,
    jsonText({ count: revisions, changed: facts, failed }, 1),
    ...more(texts, nextCursor),
  ].join('\n\n')
}
