// What the operator sees of the service besides one log line per request. No label and no line holds a URI, a name, an
// author or a value (S4, C9).
import { Counter, Gauge, type Registry } from '@tallystick/service-kit'
import type { FastifyBaseLogger } from 'fastify'
import type { AuditRow, AuditTrail } from './domain/audit-trail.ts'
import type { McpEvent } from './mcp/mcp-endpoint.ts'

/** The same trail, every row counted and refusals logged; the one place through which all writes pass. */
export function observedAudit(
  audit: AuditTrail,
  watch: { readonly registry: Registry; readonly logger?: FastifyBaseLogger | undefined },
): AuditTrail {
  const writes = new Counter({
    name: 'care_writes_total',
    help: 'Writes judged, by outcome, reason and path.',
    labelNames: ['outcome', 'reason', 'via'] as const,
    registers: [watch.registry],
  })
  return {
    add: (row: AuditRow) => {
      const { outcome, reason, via } = row
      writes.inc({ outcome, reason, via })
      if (outcome === 'accepted') watch.logger?.info({ via }, 'record published')
      else watch.logger?.warn({ reason, via }, 'write refused')
      return audit.add(row)
    },
    read: (query) => audit.read(query),
    close: () => audit.close(),
  }
}

/** Registers figures that are read at the moment of asking, by metric name. */
export function registerFigures(
  registry: Registry,
  figures: Readonly<Record<string, { readonly help: string; readonly read: () => number }>>,
): void {
  for (const [name, { help, read }] of Object.entries(figures)) {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        gauge.set(read())
      },
    })
  }
}

/** A listener that logs what the MCP side reports; its counts are figures. */
export function observeMcp(logger: FastifyBaseLogger | undefined): (event: McpEvent) => void {
  return (event) => {
    switch (event.kind) {
      case 'session-ended':
      case 'stream-ended':
        logger?.debug({ reason: event.reason }, event.kind)
        return
      case 'request-failed':
        logger?.error({ err: event.error }, event.kind)
        return
      case 'session-store-failed':
      case 'speech-failed':
        logger?.warn({ err: event.error }, event.kind)
    }
  }
}
