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

const schema = z.object({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  format: z.string().optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  default: z.unknown().optional(),
  required: z.array(z.string()).optional(),
  get properties(): z.ZodOptional<z.ZodRecord<z.ZodString, typeof schema>> {
    return z.record(z.string(), schema).optional()
  },
  /** `false` after a tuple's items. */
  get items(): z.ZodOptional<z.ZodUnion<readonly [z.ZodBoolean, typeof schema]>> {
    return z.union([z.boolean(), schema]).optional()
  },
  get prefixItems(): Parts {
    return z.array(schema).optional()
  },
  get anyOf(): Parts {
    return z.array(schema).optional()
  },
  get oneOf(): Parts {
    return z.array(schema).optional()
  },
  get allOf(): Parts {
    return z.array(schema).optional()
  },
})
type Parts = z.ZodOptional<z.ZodArray<typeof schema>>
type Schema = z.infer<typeof schema>

const content = z.record(z.string(), z.object({ schema: schema.optional() })).optional()
const operation = z.object({
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
        schema: schema.optional(),
      }),
    )
    .optional(),
  requestBody: z.object({ content }).optional(),
  responses: z.record(z.string(), z.object({ description: z.string().optional(), content })),
})
type Operation = z.infer<typeof operation>

const apiDocument = z.object({
  info: z.object({ title: z.string(), version: z.string(), description: z.string().optional() }),
  paths: z.record(z.string(), z.record(z.string(), operation)).default({}),
  components: z.object({ schemas: z.record(z.string(), schema).optional() }).optional(),
})

/** A schema's alternatives, or the schema itself if it has none. */
const alternativesOf = (one: Schema): readonly Schema[] =>
  (one.anyOf ?? one.oneOf)?.flatMap(alternativesOf) ?? [one]

/** The items of an array or tuple. */
const itemsOf = ({ items, prefixItems = [] }: Schema): readonly Schema[] =>
  typeof items === 'object' ? [...prefixItems, items] : prefixItems

const nameOf = (reference: string): string => reference.slice(REFERENCE.length)

/** A type in words: `array of string`, `"user" or "assistant"`. */
function typeOf(of: Schema): string {
  const kinds = alternativesOf(of).map((one) => {
    if (one.$ref !== undefined) return nameOf(one.$ref)
    if (one.const !== undefined) return JSON.stringify(one.const)
    if (one.enum !== undefined) return one.enum.map((value) => JSON.stringify(value)).join(' or ')
    const [item] = itemsOf(one)
    if (item !== undefined) return `array of ${typeOf(item)}`
    if (one.allOf !== undefined) return one.allOf.map(typeOf).join(' and ')
    const [type = 'any'] = [one.type].flat()
    return one.format === undefined ? type : `${type}, ${one.format}`
  })
  return [...new Set(kinds)].join(' or ')
}

type Field = {
  readonly name: string
  readonly isRequired: boolean
  readonly schema: Schema
}

/** The fields of a schema; fields of nested objects by their paths. */
function fieldsOf(of: Schema, path = '', depth = 0): readonly Field[] {
  if (depth > DEPTH_MAX) return []
  return alternativesOf(of).flatMap((one): readonly Field[] => {
    const items = itemsOf(one)
    if (items.length > 0) return items.flatMap((item) => fieldsOf(item, `${path}[]`, depth + 1))
    if (one.allOf !== undefined) return one.allOf.flatMap((part) => fieldsOf(part, path, depth + 1))
    return Object.entries(one.properties ?? {}).flatMap(([key, each]) => {
      const name = path === '' ? key : `${path}.${key}`
      const isRequired = one.required?.includes(key) === true
      return [{ name, isRequired, schema: each }, ...fieldsOf(each, name, depth + 1)]
    })
  })
}

const anchor = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')

function fieldTable(caption: string, fields: readonly Field[]): Html | false {
  const rows = fields.map(
    ({ name, isRequired, schema: of }) =>
      html`<tr><th scope="row"><code>${name}</code></th><td>${typeOf(of)}</td><td>${isRequired ? 'yes' : 'no'}</td><td>${of.description}${of.default !== undefined && html` Default: <code>${JSON.stringify(of.default)}</code>.`}</td></tr>`,
  )
  return (
    rows.length > 0 &&
    html`<table><caption>${caption}</caption><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Required</th><th scope="col">Meaning</th></tr></thead><tbody>${rows}</tbody></table>`
  )
}

/** A request's or answer's body: a link if its schema has a name, otherwise its fields. */
function bodyOf(caption: string, of: Operation['requestBody']): readonly (Html | false)[] {
  return Object.entries(of?.content ?? {}).map(([type, { schema: body = {} }]) => {
    if (body.$ref === undefined) return fieldTable(`${caption}, ${type}`, fieldsOf(body))
    const name = nameOf(body.$ref)
    return html`<p>${caption}, ${type}: <a href="#schema-${anchor(name)}">${name}</a></p>`
  })
}

/** A body without fields of its own, such as text or an array of strings. */
const answerType = (of: z.infer<typeof content>): string =>
  Object.entries(of ?? {})
    .map(([type, { schema: body = {} }]) => `${typeOf(body)} (${type})`)
    .join(', ')

function operationSection(name: string, of: Operation): Html {
  const { parameters = [], responses } = of
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
${of.summary !== undefined && html`<p>${of.summary}</p>`}
${of.description !== undefined && html`<p class="faint">${of.description}</p>`}
${fieldTable('Parameters', inputs)}
${bodyOf('Request body', of.requestBody)}
<table><caption>Answers</caption><thead><tr><th scope="col">Status</th><th scope="col">Body</th><th scope="col">Meaning</th></tr></thead><tbody>${rows}</tbody></table>
${answers.filter(isGood).flatMap(([status, answer]) => bodyOf(`Answer ${status}`, answer))}
</section>`
}

/** The page of an OpenAPI document. Throws for anything else. */
export function referencePage(openapi: unknown): Page {
  const { info, paths, components } = apiDocument.parse(openapi)
  const byTag = new Map<string, { readonly name: string; readonly of: Operation }[]>()
  for (const [path, operations] of Object.entries(paths))
    for (const [method, of] of Object.entries(operations)) {
      const [tag = 'routes'] = of.tags ?? []
      const named = { name: `${method.toUpperCase()} ${path}`, of }
      byTag.set(tag, [...(byTag.get(tag) ?? []), named])
    }
  const tags = [...byTag]
  const contents = tags.map(
    ([tag, operations]) =>
      html`<li>${tag}: ${operations.map(({ name }, at) => html`${at > 0 && ', '}<a href="#${anchor(name)}">${name}</a>`)}</li>`,
  )
  const schemas = Object.entries(components?.schemas ?? {}).map(
    ([name, of]) =>
      html`<section id="schema-${anchor(name)}"><h3>${name}</h3>${of.description !== undefined && html`<p>${of.description}</p>`}${fieldTable(name, fieldsOf(of))}</section>`,
  )
  return {
    title: `${info.title} API`,
    lead: info.description ?? '',
    isWide: true,
    path: '/docs',
    body: html`<div class="reference">
<p>Version ${info.version}. The same for programs: <a href="/openapi.json">OpenAPI 3.1</a>.</p>
<nav aria-label="Operations"><ul>${contents}</ul></nav>
${tags.map(([tag, operations]) => html`<section><h2>${tag}</h2>${operations.map(({ name, of }) => operationSection(name, of))}</section>`)}
${schemas.length > 0 && html`<section><h2>Schemas</h2>${schemas}</section>`}
</div>`,
  }
}
