/**
 * From a configuration to a running process and back: building, listening with clear errors, and an orderly end on
 * SIGTERM, SIGINT or an uncaught exception (S6).
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Logger } from 'pino'
import type { z } from 'zod'
import { type Clock, systemClock } from './clock.ts'
import { EXIT, HELP, readVersion } from './command.ts'
import { type Environment, environmentExample, loadConfig, slipSentence } from './config.ts'
import { parseOtlpHeaders } from './config-field.ts'
import { createLogger, type LogOutput, lastLinesWritten, openLogOutput } from './logging.ts'
import { createMetrics, type Registry } from './metrics.ts'
import { measureProcess } from './process-metrics.ts'
import { createRefusingService, type RefusedStart } from './refusing-service.ts'
import type { Secret } from './secret.ts'
import type { ServiceApp } from './service-app.ts'

/** A service built from one configuration; `runService` makes it listen. */
export type Service = {
  readonly app: ServiceApp
  readonly registry: Registry
  /** Starts background work, once, before the application listens. */
  start?(): void
  /** Called on the signal to stop, while requests are still open: finish running work, or answer it as pending. */
  stopping?(): void | Promise<void>
  /** Ends background work and closes stores, after the application has closed. */
  close(): Promise<void>
  /** Sentences for the operator about what is in doubt or undone; read if the process must end before `close` has. */
  unfinished?(): readonly string[]
}

/** How long open requests get before their connections are cut. */
const DRAIN_LIMIT_MS = 8_000
/** Whatever hangs, the process ends this long after a signal, with time left for its last lines (S6). */
const STOP_LIMIT_MS = 9_400

/** Tells the person who started the process. */
function listenMessage(error: unknown, { HOST, PORT }: ListenConfig): string {
  switch (error instanceof Error && 'code' in error && error.code) {
    case 'EADDRINUSE':
      return `Port ${PORT} is in use on ${HOST}. Stop what listens there, or set PORT to another port.`
    case 'EACCES':
      return `Port ${PORT} needs rights that this process lacks. Set PORT to one above 1023.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `HOST ${HOST} is not an address of this machine.`
    default:
      return `Cannot listen on ${HOST}:${PORT}.`
  }
}

type StopOptions = {
  readonly logger: FastifyBaseLogger
  readonly clock?: Pick<Clock, 'after'>
  readonly printError?: (text: string) => void
}

/** Closes the application, then the service. Requests still open after 8 s are cut off; what hangs is left and said. */
export async function stopOrderly(service: Service, options: StopOptions): Promise<void> {
  const { clock = systemClock, logger } = options
  const { printError = (text: string) => void process.stderr.write(text) } = options
  let waitsFor = 'open requests'
  const close = async (): Promise<void> => {
    const cancelDrain = clock.after(DRAIN_LIMIT_MS, () => {
      logger.warn({ drainMs: DRAIN_LIMIT_MS }, 'requests still open were cut off')
      service.app.server.closeAllConnections()
    })
    try {
      await service.app.answerKeptConnections(clock)
      // Not awaited: the application closes meanwhile, and `close` waits for the rest.
      void service.stopping?.()
      await service.app.close()
    } finally {
      cancelDrain()
    }
    waitsFor = 'background work and stores'
    await service.close()
  }
  const late = Promise.withResolvers<void>()
  const cancelLimit = clock.after(STOP_LIMIT_MS, () => {
    const left = service.unfinished?.() ?? []
    logger.error({ limitMs: STOP_LIMIT_MS, waitsFor, left }, 'stopping took too long')
    const sentences = [`Stopping took too long; it ended while waiting for ${waitsFor}.`, ...left]
    printError(`${sentences.join('\n')}\n`)
    late.resolve()
  })
  try {
    await Promise.race([close(), late.promise])
  } finally {
    cancelLimit()
  }
}

/** A service that listens inside the caller's process. */
export type ListeningService = {
  /** Where it listens, without a trailing slash. */
  readonly url: string
  /** Stops it as a signal would (S6). Can be called again. */
  readonly stop: () => Promise<void>
}

type ListenAddress = { readonly host?: string; readonly port?: number }

/** Makes a service listen whose work has started. */
async function listen(
  service: Service,
  { host = '127.0.0.1', port = 0 }: ListenAddress,
): Promise<ListeningService> {
  await service.app.listen({ host, port })
  let stopped: Promise<void> | undefined
  return {
    url: listeningUrl(service.app),
    stop: () => {
      stopped ??= stopOrderly(service, { logger: service.app.log })
      return stopped
    },
  }
}

/** Starts a service's work and makes it listen, by default on a free loopback port. If it cannot, closes it and rejects. */
export async function startListening(
  service: Service,
  address: ListenAddress = {},
): Promise<ListeningService> {
  service.start?.()
  try {
    return await listen(service, address)
  } catch (error) {
    await service.close()
    throw error
  }
}

/** Ends the process once its last lines are with whoever reads them. */
async function exit(code: number): Promise<never> {
  await lastLinesWritten([process.stdout, process.stderr], systemClock)
  return process.exit(code)
}

/** A signal ends the process with 0 within 10 s, an uncaught exception with 1; a second signal ends it immediately. */
function exitOnSignals(stop: () => Promise<void>, logger: FastifyBaseLogger): void {
  let isStopping = false
  const finish = async (code: number): Promise<never> => {
    try {
      await stop()
    } catch (error) {
      logger.error({ err: error }, 'stopping failed')
      return exit(1)
    }
    logger.info({}, 'stopped')
    return exit(code)
  }
  const end = (reason: string, code: number): void => {
    if (isStopping) process.exit(code === 0 ? 130 : code)
    isStopping = true
    logger.info({ reason }, 'stopping')
    void finish(code)
  }
  process.on('SIGTERM', () => end('SIGTERM', 0))
  process.on('SIGINT', () => end('SIGINT', 0))
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'uncaught exception')
    end('uncaught exception', 1)
  })
  process.on('unhandledRejection', (error) => {
    logger.fatal({ err: error }, 'unhandled rejection')
    end('unhandled rejection', 1)
  })
}

/** The URL of a listening application; loopback if it listens on every interface. */
export function listeningUrl(app: ServiceApp): string {
  const address = app.server.address()
  if (address === null || typeof address === 'string')
    throw new Error('the application does not listen on a TCP port')
  const isEverywhere = address.address === '0.0.0.0' || address.address === '::'
  const name = isEverywhere ? '127.0.0.1' : address.address
  return `http://${name.includes(':') ? `[${name}]` : name}:${address.port}`
}

/** Listening needs this of a configuration. */
type ListenConfig = { readonly HOST: string; readonly PORT: number; readonly LOG_LEVEL: string }

/** So does the export of spans. */
type SpansConfig = {
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined
  readonly OTEL_EXPORTER_OTLP_HEADERS?: Secret | undefined
  readonly OTEL_SERVICE_NAME?: string | undefined
}

type RunOptions<Schema extends z.ZodObject> = {
  /** On every log line. */
  readonly name: string
  readonly schema: Schema & z.ZodType<ListenConfig & SpansConfig>
  readonly environment: Environment
  readonly create: (parts: {
    readonly config: z.output<Schema>
    readonly clock: Clock
    readonly logger: FastifyBaseLogger
    readonly environment: Environment
  }) => Promise<Service>
  /** Serves in the service's place if an operator must judge why it cannot start; undefined otherwise. */
  readonly refused?:
    | ((error: unknown, config: z.output<Schema>) => RefusedStart | undefined)
    | undefined
  /** A sentence for the operator if the service cannot start; undefined for a bug, which is thrown. */
  readonly startRefusal?: ((error: unknown) => string | undefined) | undefined
}

/** The log of this process: readable lines on a terminal, else JSON lines that nobody has to read. */
function openLog(name: string, level: string): { logger: Logger; output: LogOutput } {
  // A full pipe that nobody reads must not stop the process: Node waits for none once it has made its stream. The
  // runtime's own warnings go to stderr, too.
  process.stderr.on('error', () => undefined)
  const output = openLogOutput(process.stdout, (lines) =>
    logger.warn({ lines }, 'nobody read the log, and lines were dropped'),
  )
  const destination = process.stdout.isTTY ? undefined : output
  const logger = createLogger({ name, level, destination })
  return { logger, output }
}

/** Exports spans if a collector is configured. Nothing of OpenTelemetry is loaded otherwise. */
async function openSpans(
  config: SpansConfig,
  { logger, name }: { readonly logger: FastifyBaseLogger; readonly name: string },
) {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers } = config
  if (endpoint === undefined) return { droppedCount: () => 0, end: async () => undefined }
  const { exportSpans } = await import('./export-spans.ts')
  const { OTEL_SERVICE_NAME: serviceName = name } = config
  return exportSpans({
    endpoint,
    headers: headers && parseOtlpHeaders(headers.reveal()),
    serviceName,
    clock: systemClock,
    logger,
  })
}

const DROPPED = {
  log_lines_dropped_total: {
    kind: 'counter',
    help: 'Lines of the log that nobody read in time.',
  },
  spans_dropped_total: { kind: 'counter', help: 'Spans that no collector took in time.' },
} as const

/** What nobody took in time. */
function countDropped(
  registry: Registry,
  lines: Pick<LogOutput, 'droppedCount'>,
  spans: Pick<LogOutput, 'droppedCount'>,
): void {
  const { read } = createMetrics(registry, DROPPED)
  read('log_lines_dropped_total', (show) => show(lines.droppedCount()))
  read('spans_dropped_total', (show) => show(spans.droppedCount()))
}

/**
 * A service reads its environment alone. What else stands on its command line is answered here: help with every variable, the
 * version, or that it is not read.
 */
function answerArguments({ name, schema }: Pick<RunOptions<z.ZodObject>, 'name' | 'schema'>): void {
  const list = process.argv.slice(2)
  if (list.length === 0) return
  if (list.some((argument) => HELP.includes(argument)))
    process.stdout.write(
      `${name} serves until it is told to end (SIGTERM or Ctrl-C). It reads its environment:\n\n${environmentExample(schema)}`,
    )
  else if (list.includes('--version')) process.stdout.write(`${name} ${readVersion()}\n`)
  else {
    process.stderr.write(
      `${name} takes no arguments: its configuration is its environment. Its variables: --help\n`,
    )
    process.exit(EXIT.usage)
  }
  process.exit(EXIT.done)
}

/** A service's process from environment to exit: everything a main.ts does. Exits 1 if the service cannot start. */
export async function runService<Schema extends z.ZodObject>(
  options: RunOptions<Schema>,
): Promise<void> {
  const { name, environment, refused, startRefusal } = options
  answerArguments(options)
  const { config, slips } = loadConfig(options.schema, environment)
  const { logger, output } = openLog(name, config.LOG_LEVEL)
  const spans = await openSpans(config, { logger, name })
  const service = await options
    .create({ config, clock: systemClock, logger, environment })
    .catch((error: unknown): Promise<Service> => {
      const start = refused?.(error, config)
      if (start !== undefined) {
        process.stderr.write(`Nothing is served: ${start.sentence}\n`)
        return createRefusingService(start, { clock: systemClock, logger })
      }
      const refusal = startRefusal?.(error)
      if (refusal === undefined) throw error
      process.stderr.write(`${refusal}\n`)
      return process.exit(1)
    })
  for (const { meant, variable } of slips) {
    logger.warn(
      { variable, meant },
      'nobody reads a variable that is one slip away from a known one',
    )
    service.app.startWarnings.push(slipSentence({ meant, variable }))
  }
  service.start?.()
  const address = { host: config.HOST, port: config.PORT }
  const close = (): Promise<void> => service.close().finally(() => spans.end())
  const { stop, url } = await listen({ ...service, close }, address).catch((error: unknown) => {
    process.stderr.write(`${listenMessage(error, config)}\n`)
    return process.exit(1)
  })
  exitOnSignals(stop, logger)
  measureProcess(service.registry)
  countDropped(service.registry, output, spans)
  logger.info({ url }, 'listening')
}
