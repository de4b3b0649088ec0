import { z } from 'zod'

const operation = z.object({ summary: z.string().optional(), description: z.string().optional() })
const document = z.object({
  info: z.object({ title: z.string(), version: z.string(), description: z.string().optional() }),
  paths: z.record(z.string(), z.record(z.string(), operation)).optional(),
})

/** `/llms.txt`: the service in one page of markdown for language models, from its OpenAPI document and closing notes. */
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
