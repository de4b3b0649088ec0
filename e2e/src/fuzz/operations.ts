// A service's operations as its OpenAPI document names them, and what each may answer.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { z } from 'zod'

/** A JSON Schema; keywords are read where they are used. */
export type JsonSchema = Readonly<Record<string, unknown>>

const Schema = z.record(z.string(), z.unknown())
const Media = z.object({ schema: Schema.optional() })
const Content = z.record(z.string(), Media).default({})
const Operation = z.object({
  parameters: z
    .array(
      z.object({
        in: z.enum(['query', 'header', 'path']),
        name: z.string(),
        required: z.boolean().default(false),
        schema: Schema.default({}),
      }),
    )
    .default([]),
  requestBody: z.object({ content: Content }).optional(),
  responses: z.record(z.string(), z.object({ content: Content })),
})
const METHODS = ['get', 'post', 'put', 'delete', 'patch'] as const
const Document = z.object({
  components: z.object({ schemas: z.record(z.string(), Schema).default({}) }).optional(),
  paths: z.record(z.string(), z.partialRecord(z.enum(METHODS), Operation)),
})

export type Parameter = z.infer<typeof Operation>['parameters'][number]

export type FuzzedOperation = {
  readonly method: string
  /** With `{name}` for each parameter. */
  readonly path: string
  readonly parameters: readonly Parameter[]
  /** The JSON body's; undefined if the operation takes none. */
  readonly body: JsonSchema | undefined
  /** Why the document does not allow an answer; undefined if it does. */
  findFault(status: number, contentType: string, text: string): string | undefined
}

// Formats are documentation here; they are enforced, and tested, where values are read.
const ajv = new Ajv2020({ strict: false, validateFormats: false })

type Responses = z.infer<typeof Operation>['responses']
type Components = z.infer<typeof Document>['components']

function makeValidators(responses: Responses, components: Components) {
  const documented = new Map<number, ((value: unknown) => boolean) | undefined>()
  for (const [status, { content }] of Object.entries(responses)) {
    const schema = content['application/json']?.schema
    const isValid = schema === undefined ? undefined : ajv.compile({ ...schema, components })
    documented.set(Number(status), isValid)
  }
  return documented
}

const REFERENCE = '#/components/schemas/'

/** A schema with its named schemas inlined. Ours are not recursive. */
function withoutReferences(schema: unknown, components: Components): unknown {
  if (Array.isArray(schema)) return schema.map((item) => withoutReferences(item, components))
  if (typeof schema !== 'object' || schema === null) return schema
  const { $ref } = schema as { $ref?: unknown }
  if (typeof $ref === 'string' && $ref.startsWith(REFERENCE))
    return withoutReferences(components?.schemas[$ref.slice(REFERENCE.length)], components)
  const members = Object.entries(schema)
  return Object.fromEntries(
    members.map(([name, member]) => [name, withoutReferences(member, components)]),
  )
}

function isJson(contentType: string): boolean {
  return contentType.split(';')[0] === 'application/json'
}

/** Reads a document. Throws if it is not one of our OpenAPI documents. */
export function listOperations(document: unknown): readonly FuzzedOperation[] {
  const { components, paths } = Document.parse(document)
  return Object.entries(paths).flatMap(([path, operations]) =>
    METHODS.flatMap((method) => {
      const operation = operations[method]
      if (operation === undefined) return []
      const documented = makeValidators(operation.responses, components)
      return {
        method: method.toUpperCase(),
        path,
        parameters: Operation.shape.parameters.parse(
          withoutReferences(operation.parameters, components),
        ),
        body: withoutReferences(
          operation.requestBody?.content['application/json']?.schema,
          components,
        ) as JsonSchema | undefined,
        findFault(status: number, contentType: string, text: string) {
          if (!documented.has(status)) return `status ${status} is not documented`
          const isValid = documented.get(status)
          if (isValid === undefined || !isJson(contentType)) return undefined
          return isValid(JSON.parse(text)) ? undefined : `its ${status} has another shape`
        },
      }
    }),
  )
}
