// Everything that a principal can ask, with or without a session; for tests of what must leave no trace.

import { modernCalls } from './edges/modern.fixture.ts'
import type { ClientSession, McpFixture } from './mcp.fixture.ts'

/** An internal record. */
export const HIDDEN = 'care-internal://ann/plan'

/** The caller, with or without a session. */
export type Asking = Pick<ClientSession, 'call'>
export const ERAS = ['a session', '2026-07-28'] as const
type Era = (typeof ERAS)[number]

export const asking = async (era: Era, fixture: McpFixture, scope: string): Promise<Asking> => {
  if (era === 'a session') return await fixture.open(scope)
  const { call } = modernCalls(() => fixture)
  return { call: async (method, params) => (await call(scope, method, params)).body as Answer }
}
type Answer = Awaited<ReturnType<ClientSession['call']>>

/** A cursor of changes_since is sealed under its store's key. */
const withoutCursors = (answer: object): object =>
  JSON.parse(JSON.stringify(answer).replaceAll(/(cursor(?:":"| ))[\w-]{22}\b/g, '$1')) as object

/** Everything that a principal can ask, including hidden and absent names. */
export async function askEverything(session: Asking): Promise<unknown[]> {
  const answers: unknown[] = []
  const ask = async (method: string, params?: object): Promise<unknown> => {
    const { error, result } = await session.call(method, params)
    answers.push(withoutCursors({ method, params, result, error }))
    return result
  }
  for (const method of ['resources/list', 'tools/list', 'prompts/list']) {
    let cursor: unknown
    do {
      const page = await ask(method, typeof cursor === 'string' ? { cursor } : {})
      cursor = (page as { nextCursor?: string }).nextCursor
    } while (cursor !== undefined)
  }
  for (const path of ['plan', 'plan/1', 'plan/2', 'plan/99', 'plan-3', 'absent', 'tea-1'])
    for (const scheme of ['care', 'care-internal']) {
      const uri = `${scheme}://ann/${path}`
      await ask('resources/read', { uri })
      await ask('resources/subscribe', { uri })
      await ask('resources/unsubscribe', { uri })
      await ask('tools/call', { name: 'read_record', arguments: { uri } })
      await ask('tools/call', { name: 'fetch', arguments: { id: uri } })
      await ask('tools/call', { name: 'search', arguments: { query: path } })
      const [domain] = path.split('/')
      await ask('completion/complete', {
        ref: { type: 'ref/resource', uri: `${scheme}://{patient}/{domain}/{version}` },
        argument: { name: 'version', value: '' },
        context: { arguments: { patient: 'ann', domain } },
      })
    }
  for (const scheme of ['care', 'care-internal'])
    for (const name of ['patient', 'domain'])
      await ask('completion/complete', {
        ref: { type: 'ref/resource', uri: `${scheme}://{patient}/{domain}` },
        argument: { name, value: '' },
      })
  await ask('completion/complete', {
    ref: { type: 'ref/prompt', name: 'brief_carer' },
    argument: { name: 'patient', value: '' },
  })
  for (const name of ['brief_carer', 'whats_changed'])
    await ask('prompts/get', { name, arguments: { patient: 'ann' } })
  await ask('tools/call', { name: 'list_records', arguments: {} })
  await ask('tools/call', { name: 'whats_changed', arguments: { patient: 'ann' } })
  await ask('tools/call', { name: 'changes_since', arguments: {} })
  for (const query of ['ann', 'falls', 'internal-author', 'wren'])
    await ask('tools/call', { name: 'search', arguments: { query } })
  for (const uri of [HIDDEN, 'care-internal://ann/absent', 'care://ann/absent'])
    await ask('resources/list', { cursor: Buffer.from(uri).toString('base64url') })
  return answers
}

/** Every request that names a record of a chain that the principal may not know of, existing or not. */
export function forbiddenTo(place: string, domain: string): readonly (readonly [string, object])[] {
  const [scheme, patient] = place.split('://')
  const at = (path: string) => ({ uri: `${place}/${path}` })
  const cursor = (path: string) => Buffer.from(at(path).uri).toString('base64url')
  const template = { type: 'ref/resource', uri: `${scheme}://{patient}/{domain}/{version}` }
  const complete = (name: string, input: object) =>
    [
      'completion/complete',
      { ref: template, argument: { name, value: '' }, context: { arguments: input } },
    ] as const
  return [domain, 'nothing'].flatMap((path) => [
    ...['', '/1', '/v2', '/99'].flatMap(
      (version) =>
        [
          ['resources/read', at(path + version)],
          ['resources/subscribe', at(path + version)],
          ['resources/unsubscribe', at(path + version)],
          ['tools/call', { name: 'read_record', arguments: at(path + version) }],
          ['tools/call', { name: 'fetch', arguments: { id: at(path + version).uri } }],
          [
            'subscriptions/listen',
            { notifications: { resourceSubscriptions: [at(path + version).uri] } },
          ],
          ['resources/list', { cursor: cursor(path + version) }],
          ['tools/call', { name: 'list_records', arguments: { cursor: cursor(path + version) } }],
        ] as const,
    ),
    complete('version', { patient, domain: path }),
    complete('domain', { patient }),
  ])
}
