/**
 * A challenge tells an agent this about the call that it sells: x402's extension `bazaar`, version 2, as plain JSON. Its shape
 * is in x402's specs/extensions/bazaar.md.
 */

/** A JSON Schema (2020-12). */
export type JsonSchema = Readonly<Record<string, unknown>>

/** A paid call: an example, the schema of what it sends, and an example of its answer. */
type ResourceCall = {
  /** A call sends this; the example must match the schema. */
  readonly input:
    | { readonly method: 'GET'; readonly queryParams: object; readonly schema: JsonSchema }
    | { readonly method: 'POST'; readonly body: object; readonly schema: JsonSchema }
    /** A tool of an MCP server: its arguments. */
    | { readonly toolName: string; readonly example: object; readonly schema: JsonSchema }
  /** A paid call answers this. */
  readonly output: { readonly example: object }
}

/** The extension: `info` is an example of the call, `schema` the JSON Schema of `info`. */
export type ResourceDiscovery = {
  readonly info: {
    readonly input: object
    readonly output: { readonly type: 'json'; readonly example: object }
  }
  readonly schema: JsonSchema
}

/**
 * Largest extension, in bytes of JSON: with it, a signed offer and a BASE_URL of 100 characters a challenge still fits the
 * buffer that a default nginx reads a head into (S10). Whatever is longer belongs into `/openapi.json`.
 */
const DISCOVERY_BYTES_MAX = 576

/** The example, and of its members the one that callers fill in, with its schema. */
function describeInput({ input }: ResourceCall): {
  readonly info: object
  readonly schema: Readonly<Record<string, JsonSchema>>
} {
  if ('toolName' in input) {
    const { example, schema: inputSchema, toolName } = input
    return { info: { type: 'mcp', toolName, inputSchema, example }, schema: {} }
  }
  const { method, schema } = input
  if (input.method === 'GET')
    return {
      info: { type: 'http', method, queryParams: input.queryParams },
      schema: { queryParams: schema },
    }
  return {
    info: { type: 'http', method, bodyType: 'json', body: input.body },
    schema: { body: schema },
  }
}

/** An index refuses what says nothing of its answer; the whole of it is in `/openapi.json`. */
const ANSWER = { type: 'object', properties: { example: { type: 'object' } } }

/** The extension for one call. Throws RangeError if it is over 576 bytes. */
export function describeCall(call: ResourceCall): ResourceDiscovery {
  const { info, schema } = describeInput(call)
  const input = { type: 'object', properties: schema, required: Object.keys(schema) }
  const discovery: ResourceDiscovery = {
    info: { input: info, output: { type: 'json', ...call.output } },
    schema: { type: 'object', properties: { input, output: ANSWER }, required: ['input'] },
  }
  const bytes = Buffer.byteLength(JSON.stringify(discovery))
  if (bytes > DISCOVERY_BYTES_MAX)
    throw new RangeError(`${bytes} bytes describe a call, over ${DISCOVERY_BYTES_MAX}`)
  return discovery
}
