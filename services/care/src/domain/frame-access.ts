import { parseRecordUri } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { isCardUri, mayRead } from './care-record.ts'

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined

const listed = (list: unknown): readonly unknown[] =>
  Array.isArray(list) ? list.map((entry) => member(entry, 'uri')) : []

/**
 * Every URI that a JSON-RPC frame names (care.md, Events): `params.uri`, `params.data.uri`, `result.contents[].uri` and
 * `result.resources[].uri`. A place that holds something else than a text gives undefined: such a frame cannot be judged.
 */
export function frameUris(frame: unknown): readonly (string | undefined)[] {
  const params = member(frame, 'params')
  const result = member(frame, 'result')
  const found = [
    ...[member(params, 'uri'), member(member(params, 'data'), 'uri')].filter(
      (uri) => uri !== undefined,
    ),
    ...listed(member(result, 'contents')),
    ...listed(member(result, 'resources')),
  ]
  return found.map((uri) => (typeof uri === 'string' ? uri : undefined))
}

/** A frame to be judged: its message, and the URI that it is about where the message itself names none (`list_changed`). */
export type JudgedFrame = { readonly message: unknown; readonly about?: string | undefined }

/** The audiences whose scope a frame asks for; undefined where a URI in it cannot be parsed: nobody may receive it then. */
export function frameAudiences({ message, about }: JudgedFrame): readonly Audience[] | undefined {
  const uris = about === undefined ? frameUris(message) : [...frameUris(message), about]
  const audiences = new Set<Audience>()
  for (const uri of uris) {
    if (uri === undefined) return undefined
    if (isCardUri(uri)) continue
    const parsed = parseRecordUri(uri)
    if (parsed === undefined) return undefined
    audiences.add(parsed.slot.audience)
  }
  return [...audiences]
}

/** Whether a principal with these scopes may be sent a frame: every URI in it parses and is in scope. A frame that names and is about none may be sent. */
export function mayReceive(
  scopes: readonly string[],
  audiences: readonly Audience[] | undefined,
): boolean {
  return audiences?.every((audience) => mayRead(scopes, audience)) ?? false
}
