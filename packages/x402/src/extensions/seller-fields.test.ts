/** What catalogues read of a challenge and its payment, judged by the official facilitator's own functions. */
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { extractDiscoveryInfo } from '@x402/extensions/bazaar'
import {
  array,
  assert as assertProperty,
  constantFrom,
  domain,
  property,
  record,
  string,
  tuple,
} from 'fast-check'
import { describe, expect, test } from 'vitest'
import { describeCall } from '../gate/resource-discovery.ts'
import { gateFixture } from '../testing/gate.fixture.ts'
import { firstRequirement } from '../testing/payment-header.fixture.ts'
import { sellerFields } from './seller-fields.ts'

const output = { example: { fair: true } }
const schema = { type: 'object', properties: { city: { type: 'string' } } }
const call = { input: { method: 'POST', body: { city: 'Oslo' }, schema }, output } as const
const FIELDS = {
  serviceName: 'Fair Weather',
  tags: ['weather', 'Betting', 'closing line'],
  iconUrl: 'https://cdn.example.com/icon.png',
}

/** What the official facilitator extracts from a payment for these terms. */
function extracted(fields: object, discovery = describeCall(call)) {
  const { terms } = gateFixture()
  const requirement = firstRequirement(terms)
  const payload = {
    x402Version: 2,
    payload: {},
    accepted: requirement,
    resource: { ...terms.resource, ...fields },
    extensions: { bazaar: discovery },
  }
  return extractDiscoveryInfo(
    payload as unknown as PaymentPayload,
    requirement as PaymentRequirements,
  )
}

describe('a catalogue’s fields', () => {
  test('name, tags and icon survive the official facilitator', () => {
    expect(extracted(sellerFields(FIELDS))).toMatchObject(FIELDS)
  })

  test('a tool of an MCP server is catalogued under its own name', () => {
    const input = { toolName: 'grade_pick', example: { city: 'Oslo' }, schema }
    expect(extracted({}, describeCall({ input, output }))).toMatchObject({ toolName: 'grade_pick' })
  })

  test.for([
    { serviceName: '' },
    { serviceName: 'x'.repeat(33) },
    { serviceName: 'Café' },
    { tags: ['a', 'b', 'c', 'd', 'e', 'f'] },
    { tags: ['Weather', 'weather'] },
    { tags: ['x'.repeat(33)] },
    { iconUrl: 'https://127.0.0.1/icon.png' },
    { iconUrl: 'http://2130706433/icon.png' },
    { iconUrl: 'https://[::1]/icon.png' },
    { iconUrl: 'https://localhost/icon.png' },
    { iconUrl: 'https://user@example.com/icon.png' },
    { iconUrl: 'data:image/png;base64,AAAA' },
    { iconUrl: `https://example.com/${'x'.repeat(256)}` },
  ])('what catalogues drop, and an icon too long to echo, are refused: %o', (fields) => {
    expect(() => sellerFields(fields)).toThrow(RangeError)
  })

  test('whatever is let through is catalogued whole', () => {
    // fast-check's own webUrl takes a second to set up.
    const step = string({ unit: 'grapheme' }).map((text) => `/${encodeURIComponent(text)}`)
    const iconUrl = tuple(constantFrom('http', 'https'), domain(), array(step)).map(
      ([scheme, host, path]) => `${scheme}://${host}${path.join('')}`,
    )
    const any = record({ serviceName: string({ maxLength: 40 }), iconUrl })
    assertProperty(
      property(any, (fields) => {
        try {
          sellerFields(fields)
        } catch {
          return
        }
        expect(extracted(fields)).toMatchObject(fields)
      }),
      // Each run compiles the schema.
      { numRuns: 10 },
    )
  })
})
