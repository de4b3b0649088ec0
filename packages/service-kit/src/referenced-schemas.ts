import { jsonSchemaTransformObject } from '@fastify/type-provider-zod'

type ApiDocument = ReturnType<typeof jsonSchemaTransformObject>

const REFERENCE = /"\$ref":"#\/components\/schemas\/([^"]+)"/g

function namesIn(value: unknown): readonly string[] {
  return [...JSON.stringify(value).matchAll(REFERENCE)].map(([, name = '']) => name)
}

/**
 * Puts the schemas that have an `id` into an OpenAPI document's components: those that it refers to. zod keeps ids for
 * the whole process, so that without this a process of several services would give each one the names of all.
 */
export function addReferencedSchemas(
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
