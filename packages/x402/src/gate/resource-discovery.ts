/**
 * What a challenge tells an agent about the call it sells: x402's extension `bazaar`, version 2, as plain JSON. Its shape
 * is in x402's specs/extensions/bazaar.md.
 */

/** A JSON Schema (2020-12). */
export type JsonSchema = Readonly<Record<string, unknown>>

/** A paid call: an example, and the schemas of the call and its answer. */
type ResourceCall = {
  /** What a call sends; the example must match the schema. */
  readonly input:
    | { readonly method: 'GET'; readonly queryParams: object; readonly schema: JsonSchema }
    | { readonly method: 'POST'; readonly body: object; readonly schema: JsonSchema }
    /** A tool of an MCP server: its arguments. */
    | { readonly toolName: string; readonly example: object; readonly schema: JsonSchema }
  /** What a paid call answers. */
  readonly output: { readonly example: object; readonly schema: JsonSchema }
}

/** The extension: `info` is an example of the call, `schema` the JSON Schema of `info`. */
export type ResourceDiscovery = {
  readonly info: {
    readonly input: object
    readonly output: { readonly type: 'json'; readonly example: object }
  }
  readonly schema: JsonSchema
}

/** Largest extension, in bytes of JSON: official clients echo it in `PAYMENT-SIGNATURE`, which must stay under 8 KiB. */
const DISCOVERY_BYTES_MAX = 2_048

const text = (value: string) => ({ type: 'string', const: value })

function schemaOf(input: JsonSchema, output: JsonSchema): JsonSchema {
  const required = Object.keys(input)
  const example = { type: 'object', ...output }
  const answer = { type: { type: 'string' }, example }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      input: { type: 'object', properties: input, required, additionalProperties: false },
      output: { type: 'object', properties: answer, required: ['type'] },
    },
    required: ['input'],
  }
}

function inputOf({ input }: ResourceCall): { readonly info: object; readonly schema: JsonSchema } {
  if ('toolName' in input) {
    const { example, schema: inputSchema, toolName } = input
    const info = { type: 'mcp', toolName, transport: 'streamable-http', inputSchema, example }
    const anyObject = { type: 'object' }
    return {
      info,
      schema: {
        type: text('mcp'),
        toolName: { type: 'string' },
        transport: text('streamable-http'),
        inputSchema: anyObject,
        example: anyObject,
      },
    }
  }
  const { method, schema } = input
  const common = { type: text('http'), method: text(method) }
  if (input.method === 'GET')
    return {
      info: { type: 'http', method, queryParams: input.queryParams },
      schema: { ...common, queryParams: schema },
    }
  return {
    info: { type: 'http', method, bodyType: 'json', body: input.body },
    schema: { ...common, bodyType: text('json'), body: schema },
  }
}

/**
 * Whether a payer sent the extension back. Only then does the facilitator get it, in the seller's words: in x402 the
 * payer decides whether a catalogue learns of the call.
 */
export function isEchoed(
  extensions: Readonly<Record<string, unknown>> | null | undefined,
): boolean {
  return Object.hasOwn(extensions ?? {}, 'bazaar')
}

/** The extension for one call. Throws RangeError if it is over 2 KiB. */
export function describeCall(call: ResourceCall): ResourceDiscovery {
  const { info, schema } = inputOf(call)
  const { example, schema: outputSchema } = call.output
  const discovery: ResourceDiscovery = {
    info: { input: info, output: { type: 'json', example } },
    schema: schemaOf(schema, outputSchema),
  }
  const bytes = Buffer.byteLength(JSON.stringify(discovery))
  if (bytes > DISCOVERY_BYTES_MAX)
    throw new RangeError(`${bytes} bytes describe a call, over ${DISCOVERY_BYTES_MAX}`)
  return discovery
}
