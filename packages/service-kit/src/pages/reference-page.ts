/**
 * The API reference for people, from the OpenAPI document: every operation with a request to copy, its parameters, fields and
 * answers, as plain markup in the frame of the other pages. Without its script, which finds and copies, it lacks nothing.
 */
import { z } from 'zod'
import { KIT_REFUSALS } from '../openapi.ts'
import { type Html, html } from './html.ts'
import type { Page } from './page-frame.ts'

const REFERENCE = '#/components/schemas/'
/** Schemas refer to each other by name, so no single one is as deep as this. */
const DEPTH_MAX = 8

const schemaShape = z.object({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  format: z.string().optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  default: z.unknown().optional(),
  examples: z.array(z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  get properties(): z.ZodOptional<z.ZodRecord<z.ZodString, typeof schemaShape>> {
    return z.record(z.string(), schemaShape).optional()
  },
  /** `false` after a tuple's items. */
  get items(): z.ZodOptional<z.ZodUnion<readonly [z.ZodBoolean, typeof schemaShape]>> {
    return z.union([z.boolean(), schemaShape]).optional()
  },
  get prefixItems(): Parts {
    return z.array(schemaShape).optional()
  },
  get anyOf(): Parts {
    return z.array(schemaShape).optional()
  },
  get oneOf(): Parts {
    return z.array(schemaShape).optional()
  },
  get allOf(): Parts {
    return z.array(schemaShape).optional()
  },
})
type Parts = z.ZodOptional<z.ZodArray<typeof schemaShape>>
type Schema = z.infer<typeof schemaShape>

const content = z.record(z.string(), z.object({ schema: schemaShape.optional() })).optional()
const operationShape = z.object({
  summary: z.string().optional(),
  description: z.string().optional(),
  tags: z.array(z.string()).optional(),
  parameters: z
    .array(
      z.object({
        name: z.string(),
        in: z.string(),
        required: z.boolean().optional(),
        description: z.string().optional(),
        example: z.union([z.string(), z.number()]).optional(),
        schema: schemaShape.optional(),
      }),
    )
    .optional(),
  requestBody: z.object({ content }).optional(),
  responses: z.record(z.string(), z.object({ description: z.string().optional(), content })),
  security: z.array(z.record(z.string(), z.unknown())).default([]),
})
type Operation = z.infer<typeof operationShape>

const apiDocument = z.object({
  info: z.object({ title: z.string(), version: z.string(), description: z.string().optional() }),
  paths: z.record(z.string(), z.record(z.string(), operationShape)).default({}),
  components: z.object({
    schemas: z.record(z.string(), schemaShape).default({}),
    securitySchemes: z
      .record(z.string(), z.object({ type: z.string(), name: z.string().optional() }))
      .default({}),
  }),
})
type Components = z.infer<typeof apiDocument>['components']
type Named = {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

/** A schema's alternatives, or the schema itself if it has none. */
const listAlternatives = (schema: Schema): readonly Schema[] =>
  (schema.anyOf ?? schema.oneOf)?.flatMap(listAlternatives) ?? [schema]

/** The items of an array or tuple. */
const listItems = ({ items, prefixItems = [] }: Schema): readonly Schema[] =>
  typeof items === 'object' ? [...prefixItems, items] : prefixItems

const schemaName = (reference: string): string => reference.slice(REFERENCE.length)

/** A type in words: `array of string`, `"user" or "assistant"`. */
function typeName(schema: Schema): string {
  const kinds = listAlternatives(schema).map((alternative) => {
    if (alternative.$ref !== undefined) return schemaName(alternative.$ref)
    if (alternative.const !== undefined) return JSON.stringify(alternative.const)
    if (alternative.enum !== undefined)
      return alternative.enum.map((value) => JSON.stringify(value)).join(' or ')
    const [item] = listItems(alternative)
    if (item !== undefined) return `array of ${typeName(item)}`
    if (alternative.allOf !== undefined) return alternative.allOf.map(typeName).join(' and ')
    const [type = 'any'] = [alternative.type].flat()
    return alternative.format === undefined ? type : `${type}, ${alternative.format}`
  })
  return [...new Set(kinds)].join(' or ')
}

type Field = {
  readonly name: string
  readonly isRequired: boolean
  readonly schema: Schema
}

/** The fields of a schema; fields of nested objects by their paths. */
function listFields(schema: Schema, path = '', depth = 0): readonly Field[] {
  if (depth > DEPTH_MAX) return []
  return listAlternatives(schema).flatMap((alternative): readonly Field[] => {
    const items = listItems(alternative)
    if (items.length > 0) return items.flatMap((item) => listFields(item, `${path}[]`, depth + 1))
    if (alternative.allOf !== undefined)
      return alternative.allOf.flatMap((part) => listFields(part, path, depth + 1))
    return Object.entries(alternative.properties ?? {}).flatMap(([key, each]) => {
      const name = path === '' ? key : `${path}.${key}`
      const isRequired = alternative.required?.includes(key) === true
      return [{ name, isRequired, schema: each }, ...listFields(each, name, depth + 1)]
    })
  })
}

const anchor = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')

function fieldTable(caption: string, fields: readonly Field[]): Html | false {
  const rows = fields.map(
    ({ name, isRequired, schema }) =>
      html`<tr><th scope="row"><code>${name}</code></th><td>${typeName(schema)}</td><td>${isRequired ? 'yes' : 'no'}</td><td>${schema.description}${schema.default !== undefined && html` Default: <code>${JSON.stringify(schema.default)}</code>.`}</td></tr>`,
  )
  return (
    rows.length > 0 &&
    html`<table><caption>${caption}</caption><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Required</th><th scope="col">Meaning</th></tr></thead><tbody>${rows}</tbody></table>`
  )
}

/** A request's or answer's body: a link if its schema has a name, otherwise its fields. */
function renderBody(
  caption: string,
  described: Operation['requestBody'],
): readonly (Html | false)[] {
  return Object.entries(described?.content ?? {}).map(([type, { schema: body = {} }]) => {
    if (body.$ref === undefined) return fieldTable(`${caption}, ${type}`, listFields(body))
    const name = schemaName(body.$ref)
    return html`<p>${caption}, ${type}: <a href="#schema-${anchor(name)}">${name}</a></p>`
  })
}

/** A body without fields of its own, such as text or an array of strings. */
const answerType = (answer: z.infer<typeof content>): string =>
  Object.entries(answer ?? {})
    .map(([type, { schema: body = {} }]) => `${typeName(body)} (${type})`)
    .join(', ')

const operationName = ({ method, path }: Named): string => `${method.toUpperCase()} ${path}`

/** As an argument of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** The headers by which a caller proves who it is, where nobody is served without. */
function proofHeaders({ security }: Operation, { securitySchemes }: Components): readonly string[] {
  const names = security.map((schemes) => Object.keys(schemes))
  if (names.some((schemes) => schemes.length === 0)) return []
  const requested = names.flat().flatMap((name) => securitySchemes[name] ?? [])
  const scheme = requested.find(({ type }) => type === 'http') ?? requested[0]
  if (scheme === undefined) return []
  return scheme.type === 'http'
    ? ['-H "authorization: Bearer $TOKEN"']
    : [`-H ${quoted(`${scheme.name}: …`)}`]
}

/** A call with the examples of the document; a value that has none is left to the reader. */
function curlText(named: Named, { components, origin }: Reference): string {
  const { method, operation, path } = named
  const query = new URLSearchParams()
  let filled = path
  for (const { example, in: place, name, required } of operation.parameters ?? []) {
    const value = String(example ?? `<${name}>`)
    if (place === 'path') filled = filled.replace(`{${name}}`, value)
    else if (place === 'query' && required === true) query.set(name, value)
  }
  const [[type, { schema: body = {} }] = ['', {}]] = Object.entries(
    operation.requestBody?.content ?? {},
  )
  const { examples: [example] = [] } =
    body.$ref === undefined ? body : (components.schemas[schemaName(body.$ref)] ?? {})
  const search = query.size === 0 ? '' : `?${query.toString()}`
  return [
    isPaid(named) ? 'curl -i' : 'curl',
    ...(method === (type === '' ? 'get' : 'post') ? [] : [`-X ${method.toUpperCase()}`]),
    quoted(origin + filled + search),
    ...proofHeaders(operation, components),
    ...(type === '' ? [] : [`-H ${quoted(`content-type: ${type}`)}`]),
    ...(example === undefined ? [] : [`-d ${quoted(JSON.stringify(example))}`]),
  ].join(' ')
}

const isPaid = ({ operation }: Named): boolean => '402' in operation.responses

/** Whether the kit answers so, whatever the operation. */
const isShared = (status: string, { description }: Operation['responses'][string]): boolean =>
  description !== undefined && description === KIT_REFUSALS[status]

const statusTable = (caption: string, rows: readonly Html[]): Html =>
  html`<table><caption>${caption}</caption><thead><tr><th scope="col">Status</th><th scope="col">Body</th><th scope="col">Meaning</th></tr></thead><tbody>${rows}</tbody></table>`

const statusRow = (status: string, body: string, meaning: string | undefined): Html =>
  html`<tr><th scope="row">${status}</th><td>${body}</td><td>${meaning}</td></tr>`

function operationSection(named: Named, reference: Reference): Html {
  const { operation } = named
  const { parameters = [], responses } = operation
  const inputs = parameters.map(
    ({ name: input, in: place, required: isRequired = false, description, schema: each = {} }) => ({
      name: `${input} (${place})`,
      isRequired,
      schema: description === undefined ? each : { ...each, description },
    }),
  )
  const answers = Object.entries(responses)
  const own = answers.filter(([status, answer]) => !isShared(status, answer))
  const rows = own.map(([status, answer]) => {
    const said = answer.description === 'Default Response' ? undefined : answer.description
    return statusRow(status, answerType(answer.content), said)
  })
  const isGood = ([status]: (typeof answers)[number]): boolean => status.startsWith('2')
  const shared = answers.filter(([status, answer]) => isShared(status, answer))
  const name = operationName(named)
  const label = `A call of ${name}`
  return html`<section id="${anchor(name)}" class="operation"><h3><code>${name}</code></h3>
${operation.summary !== undefined && html`<p>${operation.summary}</p>`}
${operation.description !== undefined && html`<p class="faint">${operation.description}</p>`}
<pre tabindex="0" role="region" aria-label="${label}"><code>${curlText(named, reference)}</code></pre>
${fieldTable('Parameters', inputs)}
${renderBody('Request body', operation.requestBody)}
${statusTable('Answers', rows)}
${shared.length > 0 && html`<p class="faint">And <a href="#refusals">as everywhere</a>: ${shared.map(([status]) => status).join(', ')}.</p>`}
${answers.filter(isGood).flatMap(([status, answer]) => renderBody(`Answer ${status}`, answer))}
</section>`
}

/** What is sold comes first, what only operators need last. */
const RANKS: Readonly<Record<string, number>> = { paid: -1, operations: 1 }
const rank = (tag: string): number => RANKS[tag] ?? 0

/** Operations by what they are for. */
function operationGroups(paths: z.infer<typeof apiDocument>['paths']) {
  const groups = new Map<string, Named[]>()
  for (const [path, operations] of Object.entries(paths))
    for (const [method, operation] of Object.entries(operations)) {
      const named = { method, path, operation }
      const tag = isPaid(named) ? 'paid' : (operation.tags?.[0] ?? 'routes')
      groups.set(tag, [...(groups.get(tag) ?? []), named])
    }
  return [...groups].toSorted(([left], [right]) => rank(left) - rank(right))
}

type Reference = { readonly components: Components; readonly origin: string }

/** The page of an OpenAPI document, whose requests go to `origin`. Throws for anything else. */
export function referencePage(openapi: unknown, origin: string): Page {
  const { info, paths, components } = apiDocument.parse(openapi)
  const groups = operationGroups(paths)
  const contents = groups.map(
    ([tag, operations]) =>
      html`<li>${tag}: ${operations.map((named, at) => html`${at > 0 && ', '}<a href="#${anchor(operationName(named))}">${operationName(named)}</a>`)}</li>`,
  )
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      html`<section id="schema-${anchor(name)}"><h3>${name}</h3>${schema.description !== undefined && html`<p>${schema.description}</p>`}${fieldTable(name, listFields(schema))}</section>`,
  )
  const refusals = Object.entries(KIT_REFUSALS).map(([status, meaning]) =>
    statusRow(status, 'JSON with `error`', meaning),
  )
  return {
    title: `${info.title} API`,
    lead: info.description ?? '',
    isWide: true,
    path: '/docs',
    script: '/pages/reference.js',
    body: html`<div class="reference">
<p>Version ${info.version}. The same for programs: <a href="/openapi.json">OpenAPI 3.1</a>.</p>
<div class="field" id="search" hidden><label for="find">Find an operation or a schema</label><input id="find" type="search" aria-describedby="found"><p class="hint" id="found" role="status"></p></div>
<nav aria-label="Operations"><ul>${contents}</ul></nav>
${groups.map(([tag, operations]) => html`<section><h2>${tag}</h2>${operations.map((named) => operationSection(named, { components, origin }))}</section>`)}
<section id="refusals"><h2>Refusals everywhere</h2>
<p>Any operation may answer so; those with a body, or a parameter in their path, with all of these.</p>
${statusTable('Refusals that all operations share', refusals)}</section>
${schemas.length > 0 && html`<section><h2>Schemas</h2>${schemas}</section>`}
</div>`,
  }
}
