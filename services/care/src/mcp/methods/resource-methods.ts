/** `resources/list`, `resources/templates/list`, `resources/read`, `resources/subscribe` and `resources/unsubscribe`. */
import type {
  PaginatedRequestParams,
  ReadResourceRequestParams,
  Result,
  SubscribeRequestParams,
} from '@modelcontextprotocol/sdk/types.js'
import { RPC_CODES, RpcFailure } from '@tallystick/service-kit/mcp'
import type { ChainHead } from '../../domain/record-store.ts'
import { mayRead, readReach } from '../../domain/scopes.ts'
import {
  audioUri,
  chainUri,
  normalSlot,
  parseRecordUri,
  type RecordUri,
} from '../../wire/record-uri.ts'
import type { RecordMeta } from '../../wire/records.ts'
import { DATA_LINE, recordName, recordTitle } from '../../wire/text-of-others.ts'
import { say, textsIn } from '../../wire/texts.ts'
import {
  type CallContext,
  canonicalUri,
  inLanguage,
  readChainPage,
  readVisible,
  recordAnnotations,
  recordMeta,
  recordText,
  retractionToSay,
  type SessionContext,
  type VisibleRecord,
} from '../records/visible-records.ts'
import { cardPage } from './card-page.ts'

const TEXT = 'text/plain'
const WAV = 'audio/wav'

/** The cards for hosts of either kind. The first MIME type is fixed by care.md, the second is MCP Apps' (SEP-1865). */
const cards = (serviceName: string) => [
  { uri: `ui://${serviceName}/echo`, name: 'echo', mimeType: 'text/html+skybridge' },
  {
    uri: `ui://${serviceName}/echo-app`,
    name: 'echo-app',
    mimeType: 'text/html;profile=mcp-app',
  },
]

/** The `_meta` that binds the card to a tool, for hosts of both kinds (C12). */
export function cardBinding(serviceName: string): Record<string, unknown> {
  const [skybridge, app] = cards(serviceName)
  return { 'openai/outputTemplate': skybridge?.uri, ui: { resourceUri: app?.uri } }
}

/** The one answer for absent resources and for those that the caller may not see (care.md, Errors). */
export function resourceNotFound(uri: string): RpcFailure {
  return new RpcFailure(RPC_CODES.resourceNotFound, 'Resource not found', { uri })
}

/** The record that a URI names, as far as the caller may see it. A version that does not hold is refused: never its text (C10). */
export async function readNamed(context: CallContext, uri: string) {
  const parsed = parseRecordUri(uri)
  const outcome = parsed && (await readVisible(context, parsed))
  if (parsed === undefined || outcome === undefined || outcome.kind === 'absent')
    throw resourceNotFound(uri)
  if (outcome.kind === 'found') return { ...outcome, parsed: { ...parsed, slot: outcome.record } }
  throw new RpcFailure(RPC_CODES.internalError, 'The record failed verification and is not served')
}

/** Whether a record has a sound: what cannot be spoken rightly is not listed (C37). */
function isHeard(
  { audio, clock, ...context }: CallContext,
  { audience, record }: ChainHead,
): boolean {
  if (audio === undefined || audience !== 'user' || record === undefined) return false
  const { timeZone } = context
  return audio.canSpeak(inLanguage(context, record), { nowMs: clock.unixMs(), timeZone })
}

function listedChain(context: CallContext, head: ChainHead): object[] {
  const { audience, latestVersion, writtenAt, priority } = head
  const language = head.language ?? context.language
  const facts = { version: latestVersion, audience, writtenAt, language }
  const title = recordTitle({ ...head, language })
  const annotations = recordAnnotations(head)
  const chain = {
    uri: chainUri(head),
    name: recordName(head),
    title,
    mimeType: TEXT,
    annotations,
    _meta: { ...facts, priority },
  }
  if (!isHeard(context, head)) return [chain]
  const audio = {
    uri: audioUri(head, latestVersion),
    name: `${recordName(head)}/audio`,
    title: say(textsIn(language), 'spokenTitle', { title }),
    mimeType: WAV,
    annotations,
    _meta: facts,
  }
  return [chain, audio]
}

/** One page of what the caller may read, in order of creation; the cards come first. */
export async function listResources(
  context: CallContext,
  { cursor }: PaginatedRequestParams = {},
): Promise<Result> {
  const reach = readReach(context.principal.scopes)
  const wantsRecords = context.audio !== undefined
  const { heads, nextCursor } = await readChainPage(context, { reach, cursor, wantsRecords })
  const title = say(textsIn(context.language), 'cardTitle')
  const first =
    cursor === undefined ? cards(context.serviceName).map((card) => ({ ...card, title })) : []
  return {
    resources: [...first, ...heads.flatMap((head) => listedChain(context, head))],
    nextCursor,
  }
}

const template = (scheme: string): string => `${scheme}://{patient}/{domain}/{version}`

/** The shapes of record URIs, the same for everyone: a shape names no record. */
export async function listResourceTemplates(context: CallContext): Promise<Result> {
  const templates = [
    {
      uriTemplate: template('care'),
      name: 'record',
      title: 'A record that may be spoken to the person, in one version',
      description: 'Leave out /{version} for the newest.',
      mimeType: TEXT,
      annotations: { audience: ['user'] },
    },
    {
      uriTemplate: template('care-internal'),
      name: 'internal-record',
      title: 'A record for the assistant alone, in one version',
      description: 'Never to be spoken. Leave out /{version} for the newest.',
      mimeType: TEXT,
      annotations: { audience: ['assistant'] },
    },
  ]
  if (context.audio === undefined) return { resourceTemplates: templates }
  const audio = {
    uriTemplate: `${template('care')}/audio`,
    name: 'spoken-record',
    title: 'A version of a record, spoken',
    mimeType: WAV,
    annotations: { audience: ['user'] },
  }
  return { resourceTemplates: [...templates, audio] }
}

/** Reads a record, its spoken form or a card. */
export async function readResource(
  context: CallContext,
  { uri }: ReadResourceRequestParams,
): Promise<Result> {
  const card = cards(context.serviceName).find((each) => each.uri === uri)
  if (card !== undefined)
    return {
      contents: [
        {
          uri,
          mimeType: card.mimeType,
          text: cardPage(textsIn(context.language), context.timeZone ?? 'UTC'),
        },
      ],
    }
  const { parsed, ...visible } = await readNamed(context, uri)
  // The text is what care.md fixes, so what it is stands beside it (C45).
  const _meta = { ...recordMeta(context, visible), [`${context.serviceName}/data`]: DATA_LINE }
  if (parsed.isAudio) return audioResult(context, { parsed, visible, uri, _meta })
  const text = recordText(context, visible)
  const spoken = { uri: canonicalUri(parsed), mimeType: TEXT, text, _meta }
  return { contents: [spoken, ...spokenRetraction(context, visible, spoken.uri)], _meta }
}

/**
 * The retraction again, as a separate text, for hosts that drop `_meta`, while a listener may still hold the old value (C29).
 */
function spokenRetraction(
  context: CallContext,
  visible: VisibleRecord,
  uri: string,
): readonly object[] {
  const text = retractionToSay(context, visible)
  if (text === undefined) return []
  const { version } = visible.record
  const _meta = { [`${context.serviceName}/kind`]: 'retraction', version }
  return [{ uri, mimeType: TEXT, text, _meta }]
}

async function audioResult(
  context: CallContext,
  read: {
    readonly parsed: RecordUri
    readonly visible: VisibleRecord
    readonly uri: string
    readonly _meta: RecordMeta
  },
): Promise<Result> {
  const { parsed, visible, uri, _meta } = read
  if (context.audio === undefined) throw resourceNotFound(uri)
  const { clock, timeZone } = context
  const outcome = await context.audio.spoken(visible, { nowMs: clock.unixMs(), timeZone })
  switch (outcome.kind) {
    case 'sound': {
      const { blob } = outcome
      return { contents: [{ uri: canonicalUri(parsed), mimeType: WAV, blob, _meta }], _meta }
    }
    case 'unspeakable':
      throw resourceNotFound(uri)
    case 'failed':
      throw new RpcFailure(RPC_CODES.internalError, 'The record could not be spoken')
    default:
      return outcome satisfies never
  }
}

/**
 * The URI of a subscription, the same for all its spellings; undefined if it may not be made, whether the resource is hidden or
 * not there.
 */
export async function subscribable(context: CallContext, uri: string): Promise<string | undefined> {
  if (cards(context.serviceName).some((card) => card.uri === uri)) return uri
  const parsed = parseRecordUri(uri)
  if (parsed === undefined || !mayRead(context.principal.scopes, parsed.slot)) return undefined
  const head = await context.store.head(parsed.slot)
  if (head === undefined) return undefined
  if (parsed.isAudio && context.audio === undefined) return undefined
  if ((parsed.version ?? 1) > head.latestVersion) return undefined
  // In the names of the chain, which its notices have.
  return canonicalUri({ ...parsed, slot: head })
}

/** Subscribes the session. A numbered version is accepted but never fires (C6), since it never changes. */
export async function subscribe(
  context: SessionContext,
  { uri }: SubscribeRequestParams,
): Promise<Result> {
  const found = await subscribable(context, uri)
  if (found === undefined) throw resourceNotFound(uri)
  if (!(await context.registry.subscribe(context.session, found)))
    throw new RpcFailure(RPC_CODES.badRequest, 'This session has too many subscriptions')
  return {}
}

/** Ends a subscription; ending an absent one is no error. */
export async function unsubscribe(
  context: SessionContext,
  { uri }: SubscribeRequestParams,
): Promise<Result> {
  const parsed = parseRecordUri(uri)
  const named =
    parsed === undefined
      ? [uri]
      : [parsed.slot, normalSlot(parsed.slot)].map((slot) => canonicalUri({ ...parsed, slot }))
  for (const each of new Set(named)) await context.registry.unsubscribe(context.session, each)
  return {}
}
