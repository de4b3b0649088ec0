// The fixture shared by tests of single methods: a record that was corrected and confirmed, an internal one, a stale one
// and one with an odd name; and two sessions, one with both scopes and one with the user scope.
import { DAY_MS } from '@tallystick/service-kit'
import {
  BOTH,
  type ClientSession,
  type McpFixture,
  type McpFixtureOptions,
  START_MS,
  startMcp,
  USER,
} from '../mcp.fixture.ts'

type MethodsFixture = {
  readonly fixture: McpFixture
  readonly session: ClientSession
  readonly user: ClientSession
}

/** Starts it; `close` its fixture. */
export async function startMethods(options: McpFixtureOptions = {}): Promise<MethodsFixture> {
  const fixture = await startMcp(options)
  await fixture.write({ domain: 'tea', value: 'One sugar.', priority: 0.7 })
  await fixture.write({ domain: 'tea', value: 'No sugar.', authorLabel: 'Dr Amara', priority: 0.7 })
  await fixture.write({ domain: 'tea', value: 'No sugar.', authorLabel: 'Dr Amara', priority: 0.7 })
  await fixture.write({ domain: 'plan', audience: 'assistant', value: 'Watch for falls.' })
  const staleAfter = new Date(START_MS - DAY_MS).toISOString()
  await fixture.write({ domain: 'weight', value: 'Weighs 71 kg.', staleAfter })
  await fixture.write({ patient: 'Bo Ö.', domain: '50%?', value: 'Odd names.', priority: 12 })
  return { fixture, session: await fixture.open(BOTH), user: await fixture.open(USER) }
}

type Content = {
  readonly uri: string
  readonly mimeType: string
  readonly text?: string
  readonly blob?: string
  readonly _meta: Record<string, unknown>
}

/** The contents of a read. */
export const listContents = async (by: ClientSession, uri: string): Promise<readonly Content[]> =>
  (await by.result('resources/read', { uri }))['contents'] as Content[]

/** The content of a record's read, the retraction as a separate text, and the result's `_meta`. */
export async function readRecord(by: ClientSession, uri: string) {
  const result = await by.result('resources/read', { uri })
  const [content, spoken, ...more] = result['contents'] as Content[]
  if (content === undefined || more.length > 0) throw new Error('a read has one content, or two')
  return { content, spoken, meta: result['_meta'] as Record<string, unknown> }
}

type Listed = { readonly uri: string; readonly mimeType: string; readonly annotations?: object }

/** Every page of `resources/list`. */
export async function listAll(by: ClientSession): Promise<readonly Listed[]> {
  const found: Listed[] = []
  let cursor: string | undefined
  do {
    const page = await by.result('resources/list', cursor === undefined ? {} : { cursor })
    found.push(...(page['resources'] as Listed[]))
    cursor = page['nextCursor'] as string | undefined
  } while (cursor !== undefined)
  return found
}

/** The code of the error answering a request; undefined if there is none. */
export const readCode = async (
  by: ClientSession,
  method: string,
  params: object,
): Promise<number | undefined> => (await by.call(method, params)).error?.code
