/** `tools/list` and `tools/call`: the same reads for hosts that only know tools, read-only and under the same scopes (C12). */
import type { Result } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { ageLine, isStale } from '../domain/staleness.ts'
import { chainUri, parseRecordUri, versionUri } from '../wire/record-uri.ts'
import { type CallContext, visibleAudiences } from './call-context.ts'
import { readChainPage } from './chain-page.ts'
import { changesSince } from './changes-since.ts'
import { RPC_CODES, RpcFailure } from './json-rpc.ts'
import { readVisible, recordAge, recordAnnotations, recordMeta, recordText } from './record-view.ts'
import { cursorParams, parseParams } from './request-params.ts'
import { recordBroken, resourceNotFound } from './resource-methods.ts'
import { TOOL_INPUTS, toolDescriptions } from './tool-schemas.ts'

const callParams = z.object({
  name: z.string(),
  arguments: z.record(z.string(), z.unknown()).optional(),
})

/** The three tools, in one page. */
export async function listTools(context: CallContext, params: unknown): Promise<Result> {
  parseParams(cursorParams, params)
  return { tools: toolDescriptions(context.serviceName) }
}

/** Runs a tool. What a model can mend (its arguments, a URI that is not there) is a result with `isError`, as MCP asks. */
export async function callTool(context: CallContext, params: unknown): Promise<Result> {
  const { name, arguments: given = {} } = parseParams(callParams, params)
  try {
    switch (name) {
      case 'list_records':
        return await listRecords(context, parseParams(TOOL_INPUTS.list_records, given))
      case 'read_record':
        return await readRecord(context, parseParams(TOOL_INPUTS.read_record, given))
      case 'whats_changed':
        return await whatsChanged(context, parseParams(TOOL_INPUTS.whats_changed, given))
      default:
        throw new UnknownTool()
    }
  } catch (error) {
    if (error instanceof UnknownTool)
      throw new RpcFailure(RPC_CODES.invalidParams, 'params.name: unknown tool')
    if (error instanceof RpcFailure && error.code === RPC_CODES.invalidParams)
      return toolError(error.message.replace(/^params/, 'arguments'))
    throw error
  }
}

class UnknownTool extends Error {}

function toolError(text: string): Result {
  return { content: [{ type: 'text', text }], isError: true }
}

async function listRecords(
  context: CallContext,
  query: z.output<typeof TOOL_INPUTS.list_records>,
): Promise<Result> {
  const audiences = visibleAudiences(context)
  const { heads, nextCursor } = await readChainPage(context, { ...query, audiences })
  const records = heads.map((head) => ({
    uri: chainUri(head),
    patient: head.patient,
    domain: head.domain,
    audience: head.audience,
    version: head.latestVersion,
    writtenAt: head.writtenAt,
    ...(head.priority === undefined ? {} : { priority: head.priority }),
  }))
  const structuredContent = { records, ...(nextCursor === undefined ? {} : { nextCursor }) }
  const lines = records.map(({ uri, version }) => `${uri} (version ${version})`)
  const text = lines.length === 0 ? 'No records.' : lines.join('\n')
  return { content: [{ type: 'text', text }], structuredContent }
}

async function readRecord(
  context: CallContext,
  { uri }: z.output<typeof TOOL_INPUTS.read_record>,
): Promise<Result> {
  const parsed = parseRecordUri(uri)
  if (parsed === undefined || parsed.isAudio) return toolError(resourceNotFound(uri).message)
  const outcome = await readVisible(context, parsed)
  if (outcome.kind === 'absent') return toolError(resourceNotFound(uri).message)
  if (outcome.kind === 'broken') return toolError(recordBroken().message)
  const { record, retraction, previousValue, latestVersion } = outcome.visible
  const age = recordAge(context, record)
  const structuredContent = {
    uri: versionUri(record, record.version),
    patient: record.patient,
    domain: record.domain,
    audience: record.audience,
    version: record.version,
    latestVersion,
    value: record.value,
    previousValue: previousValue ?? null,
    age: ageLine(age),
    stale: isStale(age),
    authorLabel: record.authorLabel,
    writtenAt: record.writtenAt,
    ...(retraction === undefined ? {} : { retraction }),
  }
  const text = recordText(context, record)
  return {
    content: [
      {
        type: 'text',
        text: retraction === undefined ? text : `${retraction}\n${text}`,
        annotations: recordAnnotations(record),
      },
    ],
    structuredContent,
    _meta: recordMeta(context, outcome.visible),
  }
}

async function whatsChanged(
  context: CallContext,
  query: z.output<typeof TOOL_INPUTS.whats_changed>,
): Promise<Result> {
  const found = await changesSince(context, query)
  const changed = found.changed.map(
    ({ record, uri, revisions, previousValue, withdrawn, retraction }) => ({
      uri,
      domain: record.domain,
      audience: record.audience,
      version: record.version,
      revisions,
      value: record.value,
      previousValue,
      withdrawn,
      age: ageLine(recordAge(context, record)),
      authorLabel: record.authorLabel,
      writtenAt: record.writtenAt,
      ...(retraction === undefined ? {} : { retraction }),
    }),
  )
  const revisions = changed.reduce((sum, one) => sum + one.revisions, 0)
  const asOf = new Date(context.clock.unixMs()).toISOString()
  const lines = changed.map(
    ({ uri, retraction, value }) => `${uri}: ${retraction ?? `now ${value}`}`,
  )
  const failed = found.failed.map((uri) => `${uri}: failed verification, say nothing of it`)
  const text = [`${revisions} revision(s).`, ...lines, ...failed].join('\n')
  return {
    content: [{ type: 'text', text }],
    structuredContent: { patient: query.patient, asOf, revisions, changed, failed: found.failed },
  }
}
