// The `environment` of each service in docker-compose.yml: every variable that the service reads (S11), from its schema.
import { describeConfig } from '@tallystick/service-kit'
import type { z } from 'zod'

/** A service in the file: the prefix of its names in the env file, and what it takes from elsewhere. */
type ComposeService = {
  readonly schema: z.ZodObject
  /** What stands in the file itself: the container's own addresses and volumes. */
  readonly fixed?: Readonly<Record<string, string>>
  /** Names in the env file that do not follow the rule, and defaults that the container needs. */
  readonly named?: Readonly<Record<string, string>>
}

/** The same for every service of a deployment. */
const SHARED = new Set([
  'METRICS_TOKEN',
  'LOG_LEVEL',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'MIRROR_URL',
])

/** Published by the file as this port, on every address of the container. */
const LISTENING = { PORT: '"8080"', HOST: '0.0.0.0' }

/**
 * The lines of one service, by the name of each. In the env file a variable that only one service reads has its own name,
 * any other one the service's before it, unless `named` says otherwise.
 */
export function composeEnvironments(
  services: Readonly<Record<string, ComposeService>>,
): Readonly<Record<string, string>> {
  const readers = Object.values(services).flatMap(({ schema }) => Object.keys(schema.shape))
  const nameFor = (service: string, variable: string): string => {
    const isOwn = readers.filter((name) => name === variable).length === 1
    return isOwn || SHARED.has(variable) ? variable : `${service.toUpperCase()}_${variable}`
  }
  const linesFor = (service: string, { fixed, named = {}, schema }: ComposeService): string => {
    const standing: Readonly<Record<string, string>> = { ...LISTENING, ...fixed }
    const lines = describeConfig(schema).flatMap(({ isSecret, variable }) => {
      const value = standing[variable]
      if (value !== undefined) return [`${variable}: ${value}`]
      const [name = '', ...defaults] = (named[variable] ?? nameFor(service, variable)).split('=')
      const line = `${variable}: \${${name}:-${defaults.join('=')}}`
      return isSecret ? [line, `${variable}_FILE: \${${name}_FILE:-}`] : [line]
    })
    return lines.map((line) => `      ${line}`).join('\n')
  }
  return Object.fromEntries(
    Object.entries(services).map(([service, definition]) => [
      service,
      linesFor(service, definition),
    ]),
  )
}
