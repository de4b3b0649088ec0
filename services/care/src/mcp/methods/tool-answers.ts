/** What each tool answers (C12, C26, C35): a read of records in its schema's form. tool-methods.ts lists and calls them. */

import type { Result } from '@modelcontextprotocol/sdk/types.js'
import { isoNow } from '@tallystick/service-kit'
import type { CareRecord } from '../../domain/care-record.ts'
import { reachWithin, readReach } from '../../domain/scopes.ts'
import { ageLine, ageWords, isStale } from '../../domain/staleness.ts'
import type { ToolInput, ToolOutput } from '../../wire/mcp.ts'
import { type ChainSlot, chainUri, parseRecordUri } from '../../wire/record-uri.ts'
import { DATA_LINE, jsonText, recordTitle, valueText } from '../../wire/text-of-others.ts'
import { say, sayCount, type Texts, textsIn } from '../../wire/texts.ts'
import { changesBehind } from '../records/changes-behind.ts'
import { changesSince, type ToldChanges } from '../records/changes-since.ts'
import {
  type CallContext,
  readChainPage,
  recordAnnotations,
  recordMeta,
  recordText,
  retractionToSay,
  type VisibleRecord,
  withdrawalText,
} from '../records/visible-records.ts'
import { searchRecords } from './record-search.ts'
import { readNamed, resourceNotFound } from './resource-methods.ts'

/** What a tool says around records: in the service's language (C37). */
const frameTexts = ({ language }: CallContext): Texts => textsIn(language)

/** A text of a tool, and beside it what it is: the text is only what the records say (C45). */
const saidOnce = (context: CallContext, text: string, annotations?: object): object[] => [
  { type: 'text', text, ...(annotations === undefined ? {} : { annotations }) },
  { type: 'text', text: frameTexts(context).data },
]

export async function listRecords(
  context: CallContext,
  query: ToolInput<'list_records'>,
): Promise<Result> {
  const reach = reachWithin(readReach(context.principal.scopes), query.patient)
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
  const texts = frameTexts(context)
  const lines = records.map(({ uri, version }) => say(texts, 'listed', { uri, version }))
  const text = lines.length === 0 ? say(texts, 'noRecords') : lines.join('\n')
  return { content: saidOnce(context, text), structuredContent }
}

/** The record that an argument names; a tool reads no sound. */
async function readSpeakable(context: CallContext, uri: string): Promise<VisibleRecord> {
  if (parseRecordUri(uri)?.isAudio === true) throw resourceNotFound(uri)
  return readNamed(context, uri)
}

/** The age of a record, for an assistant and for a person. */
const describeAge = ({ clock, timeZone }: CallContext, record: CareRecord) => ({
  age: ageLine(record, clock.unixMs(), timeZone),
  ageWords: ageWords(record, clock.unixMs(), timeZone),
})

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
    status: record.status,
    withdrawal: withdrawalText(record),
    previousValue: previousValue || null,
    ...describeAge(context, record),
    stale: isStale(record, nowMs),
    authorLabel: record.authorLabel,
    language: record.language,
    writtenAt: record.writtenAt,
    asOf: new Date(nowMs).toISOString(),
    retraction: retractionToSay(context, visible),
  }
  const text = spokenText(context, visible)
  return {
    content: saidOnce(context, text, recordAnnotations(record)),
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
const recordUrl = ({ verifyUrl }: CallContext, slot: ChainSlot): string =>
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
      title: recordTitle({ ...head, language: head.language ?? context.language }),
      url: recordUrl(context, head),
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
  const { audience, authorLabel, domain, language, patient, status, writtenAt } = record
  const { age } = describeAge(context, record)
  const versions = { version: String(record.version), latestVersion: String(latestVersion) }
  const structuredContent: ToolOutput<'fetch'> = {
    id: chainUri(record),
    title: recordTitle(record),
    text: spokenText(context, visible),
    url: recordUrl(context, record),
    metadata: {
      patient,
      domain,
      audience,
      ...versions,
      authorLabel,
      writtenAt,
      age,
      ...(language === undefined ? {} : { language }),
      ...(status === undefined ? {} : { status }),
    },
  }
  return onlyObject(context, structuredContent)
}

export async function changesSinceCursor(
  context: CallContext,
  query: ToolInput<'changes_since'>,
): Promise<Result> {
  const { cursor, truncated, ...answer } = await changesBehind(context, query.cursor)
  const structuredContent: ToolOutput<'changes_since'> = {
    ...shownChanges(context, answer),
    cursor,
    truncated,
  }
  const more = say(frameTexts(context), truncated ? 'moreAtOnce' : 'nextTime', { cursor })
  const text = [...changeLines(context, answer), more].join('\n')
  return { content: saidOnce(context, text), structuredContent }
}

const shownChanges = (context: CallContext, { changed, failed, revisions }: ToldChanges) => ({
  asOf: isoNow(context.clock),
  revisions,
  changed: changed.map(({ record, ...facts }) => ({
    ...facts,
    ...describeAge(context, record),
  })),
  failed: [...failed],
})

/** Each record's sentence in its own language, what is around them in the service's. */
function changeLines(
  context: CallContext,
  { changed, failed, revisions }: ToldChanges,
): readonly string[] {
  const texts = frameTexts(context)
  return [
    sayCount(texts, 'revisions', { count: revisions }),
    ...changed.map(({ language, uri, retraction, value, withdrawal }) => {
      const now = say(textsIn(language), 'nowIs', { value: valueText(value) })
      return `${uri}: ${retraction ?? withdrawal ?? now}`
    }),
    ...failed.map((uri) => `${uri}: ${say(texts, 'unverified')}`),
  ]
}

export async function whatsChanged(
  context: CallContext,
  query: ToolInput<'whats_changed'>,
): Promise<Result> {
  const { nextCursor, ...answer } = await changesSince(context, query)
  const structuredContent: ToolOutput<'whats_changed'> = {
    patient: query.patient,
    ...shownChanges(context, answer),
    nextCursor,
  }
  const more =
    nextCursor === undefined ? [] : [say(frameTexts(context), 'more', { cursor: nextCursor })]
  const text = [...changeLines(context, answer), ...more].join('\n')
  return { content: saidOnce(context, text), structuredContent }
}
