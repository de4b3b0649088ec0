// Shared by the tests of the official clients: the record that they read, and what care serves besides tools.
import type { OfficialClient } from '@tallystick/service-kit/official-clients'
import { expect } from 'vitest'
import type { RunningCare } from '../testing/running-care.fixture.ts'

export const TEA = 'care://ann/tea'

/** Writes a value of that record. */
export async function writeTea(care: RunningCare, value: string): Promise<void> {
  const answer = await care.write({ patient: 'ann', domain: 'tea', value, authorId: 'dr-osei' })
  expect(answer.status).toBe(200)
}

/** The value that a read of it found. */
export const readValue = (result: { readonly contents: readonly object[] }): unknown => {
  const [content] = result.contents as { _meta?: { value?: unknown } }[]
  return content?._meta?.value
}

/** What both suites of clients judge, with a record of this value. */
export const judgedCare = (value: string) => ({
  serverName: 'tallystick-care',
  instructions: 'care-internal://',
  calls: {
    list_records: {},
    read_record: { uri: TEA },
    whats_changed: { patient: 'ann' },
    changes_since: {},
    search: { query: 'sugar' },
    fetch: { id: TEA },
  },
  async askMore(client: OfficialClient): Promise<void> {
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).toContain(TEA)
    expect((await client.listResourceTemplates()).resourceTemplates.length).toBeGreaterThan(1)
    expect((await client.listPrompts()).prompts).toHaveLength(2)
    const prompt = await client.getPrompt({ name: 'brief_carer', arguments: { patient: 'ann' } })
    expect(JSON.stringify(prompt)).toContain(value)
    const completed = await client.complete({
      ref: { type: 'ref/resource', uri: 'care://{patient}/{domain}/{version}' },
      argument: { name: 'version', value: '' },
      context: { arguments: { patient: 'ann', domain: 'tea' } },
    })
    expect(completed.completion.values[0]).toMatch(/^\d+$/)
  },
})
