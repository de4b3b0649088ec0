/**
 * The API reference for people, from the OpenAPI document: every operation with its parameters, fields and answers, as plain
 * markup in the frame of the other pages. It needs no script, and nothing on it is hidden from a screen reader or a search.
 */
import { z } from 'zod'
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
        schema: schemaShape.optional(),
      }),
    )
    .optional(),
  requestBody: z.object({ content }).optional(),
  responses: z.record(z.string(), z.object({ description: z.string().optional(), content })),
})
type Operation = z.infer<typeof operationShape>

const apiDocument = z.object({
  info: z.object({ title: z.string(), version: z.string(), description: z.string().optional() }),
  paths: z.record(z.string(), z.record(z.string(), operationShape)).default({}),
  components: z.object({ schemas: z.record(z.string(), schemaShape).optional() }).optional(),
})

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

function operationSection(name: string, operation: Operation): Html {
  const { parameters = [], responses } = operation
  const inputs = parameters.map(
    ({ name: input, in: place, required: isRequired = false, description, schema: each = {} }) => ({
      name: `${input} (${place})`,
      isRequired,
      schema: description === undefined ? each : { ...each, description },
    }),
  )
  const answers = Object.entries(responses)
  const rows = answers.map(([status, answer]) => {
    const said = answer.description === 'Default Response' ? undefined : answer.description
    return html`<tr><th scope="row">${status}</th><td>${answerType(answer.content)}</td><td>${said}</td></tr>`
  })
  const isGood = ([status]: (typeof answers)[number]): boolean => status.startsWith('2')
  return html`<section id="${anchor(name)}"><h3><code>${name}</code></h3>
${operation.summary !== undefined && html`<p>${operation.summary}</p>`}
${operation.description !== undefined && html`<p class="faint">${operation.description}</p>`}
${fieldTable('Parameters', inputs)}
${renderBody('Request body', operation.requestBody)}
<table><caption>Answers</caption><thead><tr><th scope="col">Status</th><th scope="col">Body</th><th scope="col">Meaning</th></tr></thead><tbody>${rows}</tbody></table>
${answers.filter(isGood).flatMap(([status, answer]) => renderBody(`Answer ${status}`, answer))}
</section>`
}

/** The page of an OpenAPI document. Throws for anything else. */
export function referencePage(openapi: unknown): Page {
  const { info, paths, components } = apiDocument.parse(openapi)
  const byTag = new Map<string, { readonly name: string; readonly of: Operation }[]>()
  for (const [path, operations] of Object.entries(paths))
    for (const [method, operation] of Object.entries(operations)) {
      const [tag = 'routes'] = operation.tags ?? []
      const named = { name: `${method.toUpperCase()} ${path}`, of: operation }
      byTag.set(tag, [...(byTag.get(tag) ?? []), named])
    }
  const tags = [...byTag]
  const contents = tags.map(
    ([tag, operations]) =>
      html`<li>${tag}: ${operations.map(({ name }, at) => html`${at > 0 && ', '}<a href="#${anchor(name)}">${name}</a>`)}</li>`,
  )
  const schemas = Object.entries(components?.schemas ?? {}).map(
    ([name, schema]) =>
      html`<section id="schema-${anchor(name)}"><h3>${name}</h3>${schema.description !== undefined && html`<p>${schema.description}</p>`}${fieldTable(name, listFields(schema))}</section>`,
  )
  return {
    title: `${info.title} API`,
    lead: info.description ?? '',
    isWide: true,
    path: '/docs',
    body: html`<div class="reference">
<p>Version ${info.version}. The same for programs: <a href="/openapi.json">OpenAPI 3.1</a>.</p>
<nav aria-label="Operations"><ul>${contents}</ul></nav>
${tags.map(([tag, operations]) => html`<section><h2>${tag}</h2>${operations.map(({ name, of: operation }) => operationSection(name, operation))}</section>`)}
${schemas.length > 0 && html`<section><h2>Schemas</h2>${schemas}</section>`}
</div>`,
  }
}
