// docker-compose.yml as the tests read it, with an env file's variables substituted.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { root } from './spawned-stack.ts'

const ComposeService = z.object({
  profiles: z.array(z.string()).default([]),
  image: z.string().optional(),
  build: z.object({ args: z.object({ SERVICE: z.string() }) }).optional(),
  restart: z.string().optional(),
  mem_limit: z.string().optional(),
  pids_limit: z.number().optional(),
  logging: z.object({ options: z.record(z.string(), z.string()) }).optional(),
  read_only: z.boolean().default(false),
  cap_drop: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  healthcheck: z.object({ test: z.array(z.string()).optional() }).optional(),
  security_opt: z.array(z.string()).default([]),
  entrypoint: z.array(z.string()).default([]),
  command: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string()).default({}),
})
const ComposeFile = z.object({ services: z.record(z.string(), ComposeService) })

type ComposeService = z.infer<typeof ComposeService>

const VARIABLE = /\$\{([A-Z_]+):-([^}]*)\}/g

function composeText(): string {
  return readFileSync(join(root, 'docker-compose.yml'), 'utf8')
}

/** The values of an env file of deploy/. */
export function envFile(name: string): Readonly<Record<string, string>> {
  const lines = readFileSync(join(root, 'deploy', name), 'utf8').split('\n')
  const assignments = lines.filter((line) => /^[A-Z_]+=/.test(line))
  return Object.fromEntries(
    assignments.map((line) => {
      const [variable = '', ...value] = line.split('=')
      return [variable, value.join('=')]
    }),
  )
}

/** Names of the variables that the file needs from its env file. */
export function composeVariables(services: readonly string[]): ReadonlySet<string> {
  const file = ComposeFile.parse(parse(composeText(), { merge: true }))
  const texts = services.map((name) => JSON.stringify(file.services[name]))
  const all = [...texts.join('\n').matchAll(VARIABLE)].map(([, name = '']) => name)
  const published = [...composeText().matchAll(VARIABLE)].map(([, name = '']) => name)
  return new Set([...all, ...published.filter((name) => name.endsWith('_PORT'))])
}

/** The services, with the variables of that env file substituted after the YAML is read, as docker-compose does. */
export function composeServices(
  variables: Readonly<Record<string, string>>,
): Readonly<Record<string, ComposeService>> {
  const fill = (_key: unknown, value: unknown) =>
    typeof value === 'string' ? filledIn(value, variables) : value
  const filled: unknown = parse(composeText(), fill, { merge: true })
  return ComposeFile.parse(filled).services
}

function filledIn(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(VARIABLE, (_, name: string, rest: string) => variables[name] || rest)
}
