/**
 * The API reference, generated from the routes: OpenAPI 3.1 at `/openapi.json`, and `/llms.txt`. The kit's own answers are
 * added here to every operation, so that a route names only its own. Nothing here changes an answer. The page at `/docs`
 * is in pages/reference-page.ts.
 */
import swagger from '@fastify/swagger'
import { createJsonSchemaTransform, jsonSchemaTransformObject } from '@fastify/type-provider-zod'
import type { FastifyContextConfig, FastifySchema } from 'fastify'
import { z } from 'zod'
import { errorBody } from './error-answer.ts'
import type { ServiceApp } from './service-app.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route reads its bodies itself, so the framework refuses none of them. */
    readonly takesOverBody?: boolean
    /** A call without a body is a good one. */
    readonly takesNoBody?: boolean
    /** The media type of its answer, if that is not JSON; errors are. */
    readonly answersAs?: 'text/plain' | 'application/x-ndjson' | 'text/event-stream'
  }
}

/** On any operation. */
const ANYWHERE = {
  400: 'The bytes received are not an HTTP request, or not one for this operation.',
  408: 'The request did not arrive completely in time.',
  417: 'An expectation other than 100-continue.',
  431: 'The headers exceed 16 KiB.',
  503: 'The process is stopping; another one, or this one after a moment, will answer.',
}

/** On operations whose body the framework reads. */
const WITH_BODY = {
  413: 'The body exceeds its limit.',
  415: 'The body is declared as something other than JSON.',
}

/** On paths with a parameter. */
const WITH_PARAMETER = { 414: 'A parameter in the path is too long.' }

/** What each status means where the kit answers with it, whatever the operation. */
export const KIT_REFUSALS: Readonly<Record<string, string>> = {
  ...ANYWHERE,
  ...WITH_BODY,
  ...WITH_PARAMETER,
}

const described = (refusals: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(refusals).map(([status, text]) => [status, errorBody.describe(text)]),
  )

const BODY_METHODS: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

type Documented = {
  /** Absent on a route registered without one, whatever the plugin's type says. */
  readonly schema?: FastifySchema | undefined
  readonly url: string
  readonly route: {
    readonly method: string | readonly string[]
    readonly config?: FastifyContextConfig | undefined
  }
}

/** A route's schema plus the statuses that the kit may answer there; those the route names itself stay unchanged. */
function withKitRefusals({ schema = {}, url, route }: Documented): FastifySchema {
  if (schema.hide === true) return schema
  const hasBody = [route.method].flat().some((method) => BODY_METHODS.has(method))
  const response = {
    ...described(ANYWHERE),
    ...described(hasBody && route.config?.takesOverBody !== true ? WITH_BODY : {}),
    ...described(url.includes(':') ? WITH_PARAMETER : {}),
    ...(schema.response as object | undefined),
  }
  return { ...schema, response }
}

/** A security scheme of OpenAPI 3.1, as a service names it for its routes' `security`. */
export type SecurityScheme = (
  | { readonly type: 'http'; readonly scheme: 'bearer'; readonly bearerFormat?: string }
  | { readonly type: 'apiKey'; readonly in: 'header'; readonly name: string }
) & { readonly description: string; readonly [extension: `x-${string}`]: string }

type ApiDocument = ReturnType<typeof jsonSchemaTransformObject>

/** The schema's answers of 200 under the media type that they have. */
function withMediaType(schema: FastifySchema, mediaType: string | undefined): FastifySchema {
  const response = schema.response as Readonly<Record<string, { description?: string }>> | undefined
  const answer = response?.['200']
  if (mediaType === undefined || answer === undefined) return schema
  const { description = 'The answer.' } = answer
  const content = { [mediaType]: { schema: answer } }
  return { ...schema, response: { ...response, 200: { description, content } } }
}

/** `GET /api/ledger/{seq}` → `getApiLedgerSeq`. */
const nameOperation = (method: string, path: string): string =>
  method +
  (path.match(/[a-z\d]+/gi) ?? [])
    .map((part) => part.slice(0, 1).toUpperCase() + part.slice(1))
    .join('')

/** Marks an operation until the whole document is there: the plugin says of every body that it is required. */
const NO_BODY = 'x-takes-no-body'

type Operation = { operationId?: string; requestBody?: { required?: boolean }; [NO_BODY]?: true }

const isOperation = (value: unknown): value is Operation =>
  typeof value === 'object' && value !== null && 'responses' in value

/** Names every operation, by which generated clients call it, and says which needs no body. */
function finishOperations(document: ApiDocument): ApiDocument {
  const paths = 'paths' in document ? document.paths : undefined
  for (const [path, item] of Object.entries(paths ?? {}))
    for (const [method, operation] of Object.entries(item ?? {}))
      if (isOperation(operation)) {
        operation.operationId ??= nameOperation(method, path)
        if (operation[NO_BODY] && operation.requestBody) operation.requestBody.required = false
        delete operation[NO_BODY]
      }
  return document
}

const REFERENCE = /"\$ref":"#\/components\/schemas\/([^"]+)"/g

function namesIn(value: unknown): readonly string[] {
  return [...JSON.stringify(value).matchAll(REFERENCE)].map(([, name = '']) => name)
}

/**
 * Adds only the schemas with an `id` that an OpenAPI document refers to: zod keeps ids for the whole process, so each service
 * in a process would otherwise list those of all.
 */
function addReferencedSchemas(
  document: Parameters<typeof jsonSchemaTransformObject>[0],
): ApiDocument {
  const whole = jsonSchemaTransformObject(document)
  if (!('openapi' in whole)) return whole
  const all = whole.components?.schemas ?? {}
  const names = new Set(namesIn(whole.paths))
  for (const name of names) for (const inner of namesIn(all[name] ?? {})) names.add(inner)
  const schemas = Object.fromEntries(Object.entries(all).filter(([name]) => names.has(name)))
  return { ...whole, components: { ...whole.components, schemas } } as ApiDocument
}

const toJsonSchema = createJsonSchemaTransform({ skipList: [] })

/** Collects the routes added from now on. */
export async function registerDocumentation(
  app: ServiceApp,
  info: { readonly title: string; readonly version: string; readonly description: string },
  securitySchemes: Readonly<Record<string, SecurityScheme>> = {},
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { ...info, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
      // Where the document was read, whatever that address is.
      servers: [{ url: '/' }],
      components: { securitySchemes },
    },
    transform(documented) {
      const { schema, url } = toJsonSchema({ ...documented, schema: withKitRefusals(documented) })
      const { answersAs, takesNoBody } = documented.route.config ?? {}
      const marks = takesNoBody === true ? { [NO_BODY]: true } : {}
      // Said of every operation: one that says nothing is taken for unknown.
      return { url, schema: { security: [], ...marks, ...withMediaType(schema, answersAs) } }
    },
    transformObject: (document) => finishOperations(addReferencedSchemas(document)),
  })
}

const operation = z.object({ summary: z.string().optional(), description: z.string().optional() })
const document = z.object({
  info: z.object({ title: z.string(), version: z.string(), description: z.string().optional() }),
  paths: z.record(z.string(), z.record(z.string(), operation)).optional(),
})

/** `/llms.txt`: one page of markdown about the service for language models, from its OpenAPI document and closing notes. */
export function llmsText(openapi: unknown, notes: string): string {
  const { info, paths } = document.parse(openapi)
  const routes = Object.entries(paths ?? {}).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { summary, description }]) => {
      const about = summary ?? description
      return `- \`${method.toUpperCase()} ${path}\`${about === undefined ? '' : `: ${about}`}`
    }),
  )
  return [
    `# ${info.title} ${info.version}`,
    '',
    ...(info.description === undefined ? [] : [`> ${info.description}`, '']),
    '## Routes',
    '',
    ...routes,
    '',
    'The whole interface, with every field: [OpenAPI 3.1](/openapi.json). For people: [/docs](/docs).',
    ...(notes === '' ? [] : ['', notes.trim()]),
    '',
  ].join('\n')
}
