// Shared by the tests of the official clients: the record that they read, and checks that hold for every client and revision.
import { expect } from 'vitest'
import type { RunningCare } from '../testing/running-care.fixture.ts'

export const TEA = 'care://ann/tea'

/** Writes a value of that record. */
export async function writeTea(care: RunningCare, value: string): Promise<void> {
  const answer = await care.write({ patient: 'ann', domain: 'tea', value, authorId: 'dr-osei' })
  expect(answer.status).toBe(200)
}

/** The value that a read of it found. */
export const valueOf = (result: { readonly contents: readonly object[] }): unknown => {
  const [content] = result.contents as { _meta?: { value?: unknown } }[]
  return content?._meta?.value
}

/** A call of each tool, about ann's records. */
const TOOL_CALLS = [
  ['list_records', {}],
  ['read_record', { uri: TEA }],
  ['whats_changed', { patient: 'ann' }],
  ['changes_since', {}],
  ['search', { query: 'sugar' }],
  ['fetch', { id: TEA }],
] as const

/** What both generations of clients do alike. */
type OfficialClient = {
  getServerVersion(): { readonly name: string } | undefined
  getInstructions(): string | undefined
  listResources(): Promise<{ readonly resources: readonly { readonly uri: string }[] }>
  listResourceTemplates(): Promise<{ readonly resourceTemplates: readonly object[] }>
  listPrompts(): Promise<{ readonly prompts: readonly object[] }>
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>
  getPrompt(of: { name: string; arguments: Record<string, string> }): Promise<object>
  callTool(of: { name: string; arguments: Record<string, unknown> }): Promise<object>
  complete(of: {
    ref: { type: 'ref/resource'; uri: string }
    argument: { name: string; value: string }
    context: { arguments: Record<string, string> }
  }): Promise<{ readonly completion: { readonly values: readonly string[] } }>
}

/** Calls everything that needs no session; the client throws if an answer breaks its schema. */
export async function expectSchemasRespected(
  client: OfficialClient,
  of: { readonly value: string },
): Promise<void> {
  expect(client.getServerVersion()?.name).toBe('tallystick-care')
  expect(client.getInstructions()).toContain('care-internal://')
  const { resources } = await client.listResources()
  expect(resources.map(({ uri }) => uri)).toContain(TEA)
  expect((await client.listResourceTemplates()).resourceTemplates.length).toBeGreaterThan(1)
  expect((await client.listPrompts()).prompts).toHaveLength(2)
  expect((await client.listTools()).tools.map(({ name }) => name).toSorted()).toEqual(
    TOOL_CALLS.map(([name]) => name).toSorted(),
  )
  const prompt = await client.getPrompt({ name: 'brief_carer', arguments: { patient: 'ann' } })
  expect(JSON.stringify(prompt)).toContain(of.value)
  // The client checks each answer against the tool's output schema.
  for (const [name, given] of TOOL_CALLS)
    expect(await client.callTool({ name, arguments: given })).toHaveProperty('structuredContent')
  const completed = await client.complete({
    ref: { type: 'ref/resource', uri: 'care://{patient}/{domain}/{version}' },
    argument: { name: 'version', value: '' },
    context: { arguments: { patient: 'ann', domain: 'tea' } },
  })
  expect(completed.completion.values[0]).toMatch(/^\d+$/)
}
