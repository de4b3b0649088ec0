/** What each tool answers (C12, C26, C35): a read of records in its schema's form. tool-methods.ts lists and calls them. */
import type { Result } from '@modelcontextprotocol/sdk/types.js'
import { reachOf, reachWithin } from '../domain/scopes.ts'
import { ageLine, isStale } from '../domain/staleness.ts'
import type { ToolInput, ToolOutput } from '../wire/mcp.ts'
import { type ChainSlot, chainUri, parseRecordUri } from '../wire/record-uri.ts'
import { DATA_LINE, jsonText, recordTitle, valueText } from '../wire/text-of-others.ts'
import { changesBehind } from './changes-behind.ts'
import { changesSince, type ToldChanges } from './changes-since.ts'
import { searchRecords } from './record-search.ts'
import { readNamed, resourceNotFound } from './resource-methods.ts'
import {
  type CallContext,
  readChainPage,
  recordAnnotations,
  recordMeta,
  recordText,
  retractionToSay,
  type VisibleRecord,
} from './visible-records.ts'

/** Beside the answer, whose own text is only what the records say (C45). */
const SAID_ONCE = { type: 'text', text: DATA_LINE } as const

export async function listRecords(
  context: CallContext,
  query: ToolInput<'list_records'>,
): Promise<Result> {
  const reach = reachWithin(reachOf(context.principal.scopes), query.patient)
  const { heads, nextCursor } = await readChainPage(context, { reach, cursor: query.cursor })
  const records = heads.map((head) => ({
    uri: chainUri(head),
    patient: head.patient,
    domain: head.domain,
    audience: head.audience,
    version: head.latestVersion,
    writtenAt: head.writtenAt,
    priority: head.priority,
    language: head.language ?? context.language,
  }))
  const structuredContent: ToolOutput<'list_records'> = { records, nextCursor }
  const lines = records.map(({ uri, version }) => `${uri} (version ${version})`)
  const text = lines.length === 0 ? 'No records.' : lines.join('\n')
  return { content: [{ type: 'text', text }, SAID_ONCE], structuredContent }
}

/** The record that an argument names; a tool reads no sound. */
async function readSpeakable(context: CallContext, uri: string): Promise<VisibleRecord> {
  if (parseRecordUri(uri)?.isAudio === true) throw resourceNotFound(uri)
  return readNamed(context, uri)
}

/** The text about a version: first what it takes back, then the text of a read, which names what holds if this one does not. */
function spokenText(context: CallContext, visible: VisibleRecord): string {
  const said = recordText(context, visible)
  const first = visible.superseded === undefined ? retractionToSay(context, visible) : undefined
  return first === undefined ? said : `${first}\n${said}`
}

export async function readRecord(
  context: CallContext,
  { uri }: ToolInput<'read_record'>,
): Promise<Result> {
  const visible = await readSpeakable(context, uri)
  const { record, superseded, previousValue, latestVersion } = visible
  const nowMs = context.clock.unixMs()
  const structuredContent: ToolOutput<'read_record'> = {
    superseded,
    uri: chainUri(record),
    patient: record.patient,
    domain: record.domain,
    audience: record.audience,
    version: record.version,
    latestVersion,
    value: record.value,
    previousValue: previousValue ?? null,
    age: ageLine(record, nowMs),
    stale: isStale(record, nowMs),
    authorLabel: record.authorLabel,
    language: record.language,
    writtenAt: record.writtenAt,
    asOf: new Date(nowMs).toISOString(),
    retraction: retractionToSay(context, visible),
  }
  const text = spokenText(context, visible)
  return {
    content: [{ type: 'text', text, annotations: recordAnnotations(record) }, SAID_ONCE],
    structuredContent,
    _meta: recordMeta(context, visible),
  }
}

/** Exactly the object, and again as the only text: hosts with `search` and `fetch` read that. */
const onlyObject = (
  { serviceName }: CallContext,
  structuredContent: Record<string, unknown>,
  meta: object = {},
): Result => ({
  content: [{ type: 'text', text: jsonText(structuredContent) }],
  structuredContent,
  _meta: { [`${serviceName}/data`]: DATA_LINE, ...meta },
})

/** Where a person may look up a record; empty for an internal one, which no person may open. */
const urlOf = ({ verifyUrl }: CallContext, slot: ChainSlot): string =>
  verifyUrl === undefined || slot.audience !== 'user'
    ? ''
    : `${verifyUrl}?uri=${encodeURIComponent(chainUri(slot))}`

export async function search(
  context: CallContext,
  { query }: ToolInput<'search'>,
): Promise<Result> {
  const { found, truncated } = await searchRecords(context, query)
  const structuredContent: ToolOutput<'search'> = {
    results: found.map((head) => ({
      id: chainUri(head),
      title: recordTitle(head),
      url: urlOf(context, head),
    })),
  }
  const meta = truncated ? { [`${context.serviceName}/truncated`]: true } : undefined
  return onlyObject(context, structuredContent, meta)
}

export async function fetchRecord(
  context: CallContext,
  { id }: ToolInput<'fetch'>,
): Promise<Result> {
  const visible = await readSpeakable(context, id)
  const { latestVersion, record } = visible
  const { audience, authorLabel, domain, language, patient, writtenAt } = record
  const age = ageLine(record, context.clock.unixMs())
  const versions = { version: String(record.version), latestVersion: String(latestVersion) }
  const structuredContent: ToolOutput<'fetch'> = {
    id: chainUri(record),
    title: recordTitle(record),
    text: spokenText(context, visible),
    url: urlOf(context, record),
    metadata: {
      patient,
      domain,
      audience,
      ...versions,
      authorLabel,
      writtenAt,
      age,
      ...(language === undefined ? {} : { language }),
    },
  }
  return onlyObject(context, structuredContent)
}

export async function changesSinceCursor(
  context: CallContext,
  query: ToolInput<'changes_since'>,
): Promise<Result> {
  const { cursor, truncated, ...told } = await changesBehind(context, query.cursor)
  const structuredContent: ToolOutput<'changes_since'> = {
    ...shownChanges(context, told),
    cursor,
    truncated,
  }
  const more = truncated ? 'There is more: ask again at once with' : 'Next time ask with'
  const text = [...linesOf(told), `${more} cursor ${cursor}`].join('\n')
  return { content: [{ type: 'text', text }, SAID_ONCE], structuredContent }
}

const shownChanges = ({ clock }: CallContext, { changed, failed, revisions }: ToldChanges) => ({
  asOf: new Date(clock.unixMs()).toISOString(),
  revisions,
  changed: changed.map(({ record, ...facts }) => ({
    ...facts,
    age: ageLine(record, clock.unixMs()),
  })),
  failed: [...failed],
})

const linesOf = ({ changed, failed, revisions }: ToldChanges): readonly string[] => [
  `${revisions} revision(s).`,
  ...changed.map(
    ({ uri, retraction, value }) => `${uri}: ${retraction ?? `now ${valueText(value)}`}`,
  ),
  ...failed.map((uri) => `${uri}: failed verification, say nothing of it`),
]

export async function whatsChanged(
  context: CallContext,
  query: ToolInput<'whats_changed'>,
): Promise<Result> {
  const { nextCursor, ...told } = await changesSince(context, query)
  const structuredContent: ToolOutput<'whats_changed'> = {
    patient: query.patient,
    ...shownChanges(context, told),
    nextCursor,
  }
  const more =
    nextCursor === undefined ? '' : `\nThere is more: ask again with cursor ${nextCursor}`
  const text = linesOf(told).join('\n') + more
  return { content: [{ type: 'text', text }, SAID_ONCE], structuredContent }
}
