/**
 * From a configuration to a running process and back: building, listening with a clear error, and an orderly end on
 * SIGTERM, SIGINT or an uncaught exception (S6).
 */
import type { FastifyBaseLogger } from 'fastify'
import { collectDefaultMetrics, type Registry } from 'prom-client'
import type { z } from 'zod'
import { type Clock, systemClock } from './clock.ts'
import { type Environment, loadConfig } from './config.ts'
import { createLogger } from './logging.ts'
import type { ServiceApp } from './service-app.ts'

type ServeOptions = {
  readonly app: ServiceApp
  readonly host: string
  readonly port: number
  readonly logger: FastifyBaseLogger
  /** Where figures of the process (memory, event loop, garbage collection) are registered; nowhere by default. */
  readonly registry?: Registry | undefined
  /** Runs at the signal, before open requests are waited for: ends streams, stops pollers. */
  readonly onStopping?: (() => void | Promise<void>) | undefined
  /** Runs when the last request is answered: flushes and closes stores and clients. */
  readonly onStop?: (() => void | Promise<void>) | undefined
}

/** What listens: its URL and how to end it without ending the process. */
type RunningServer = { readonly url: string; stop(): Promise<void> }

/** Open requests get this long; then their connections are cut. */
const DRAIN_LIMIT_MS = 8_000
/** After a signal the process is gone by then, whatever hangs (S6). */
const EXIT_LIMIT_MS = 9_800

const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

/** What to tell the person who started the process; undefined where it is no matter of address. */
function listenMessage(error: unknown, where: { host: string; port: number }): string {
  const address = `${where.host}:${where.port}`
  switch (errorCode(error)) {
    case 'EADDRINUSE':
      return `Port ${where.port} is in use on ${where.host}. Stop what listens there, or set PORT to another port.`
    case 'EACCES':
      return `Port ${where.port} needs rights that this process lacks. Set PORT to one above 1023.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `HOST ${where.host} is no address of this machine.`
    default:
      return `Cannot listen on ${address}.`
  }
}

/** Closes the application and what belongs to it; requests that are still open after 8 s are cut off. */
export async function stopOrderly(
  options: Pick<ServeOptions, 'app' | 'logger' | 'onStop' | 'onStopping'>,
  clock: Pick<Clock, 'after'> = systemClock,
): Promise<void> {
  await options.onStopping?.()
  const cancelDrain = clock.after(DRAIN_LIMIT_MS, () => {
    options.logger.warn({ drainMs: DRAIN_LIMIT_MS }, 'requests still open were cut off')
    options.app.server.closeAllConnections()
  })
  try {
    await options.app.close()
  } finally {
    cancelDrain()
  }
  await options.onStop?.()
}

function exitOnSignals(options: ServeOptions): void {
  const { logger } = options
  let isStopping = false
  const end = (reason: string, code: number): void => {
    if (isStopping) process.exit(code === 0 ? 130 : code)
    isStopping = true
    logger.info({ reason }, 'stopping')
    setTimeout(() => {
      logger.error({ limitMs: EXIT_LIMIT_MS }, 'stopping took too long')
      process.exit(1)
    }, EXIT_LIMIT_MS).unref()
    stopOrderly(options).then(
      () => {
        logger.info({}, 'stopped')
        process.exit(code)
      },
      (error: unknown) => {
        logger.error({ err: error }, 'stopping failed')
        process.exit(1)
      },
    )
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

/**
 * Listens, and stops on a signal: requests under way are answered, `onStop` flushes, exit 0 within 10 s; a second signal
 * exits at once. A port in use is named on stderr and exits 1.
 */
export async function serve(options: ServeOptions): Promise<RunningServer> {
  const { app, host, port, logger } = options
  try {
    await app.listen({ host, port })
  } catch (error) {
    process.stderr.write(`${listenMessage(error, { host, port })}\n`)
    process.exit(1)
  }
  exitOnSignals(options)
  if (options.registry !== undefined) collectDefaultMetrics({ register: options.registry })
  const url = listeningUrl(app)
  logger.info({ url }, 'listening')
  return { url, stop: () => stopOrderly(options) }
}

/** The URL of an application that listens, loopback where it listens on every interface. */
export function listeningUrl(app: ServiceApp): string {
  const address = app.server.address()
  if (address === null || typeof address === 'string')
    throw new Error('the application does not listen on a TCP port')
  const isEverywhere = address.address === '0.0.0.0' || address.address === '::'
  const name = isEverywhere ? '127.0.0.1' : address.address
  return `http://${name.includes(':') ? `[${name}]` : name}:${address.port}`
}

/** A service built for one configuration; `runService` listens for it. */
export type Service = {
  readonly app: ServiceApp
  readonly registry: Registry
  /** Starts background work, once, before the application listens. */
  start?(): void
  /** Told at the signal to stop, beside the open requests: finish what runs, or answer it as pending. */
  stopping?(): void | Promise<void>
  /** Ends background work and closes stores, after the application is closed. */
  close(): Promise<void>
}

/** What listening needs of a configuration. */
type ListenConfig = { readonly HOST: string; readonly PORT: number; readonly LOG_LEVEL: string }

type RunOptions<Schema extends z.ZodObject> = {
  /** On every log line. */
  readonly name: string
  readonly schema: Schema & z.ZodType<ListenConfig>
  readonly environment: Environment
  readonly create: (parts: {
    readonly config: z.output<Schema>
    readonly clock: Clock
    readonly logger: FastifyBaseLogger
    readonly environment: Environment
  }) => Promise<Service>
  /** A sentence for the operator where the service cannot start; undefined for a bug, which throws. */
  readonly startRefusal?: ((error: unknown) => string | undefined) | undefined
}

/** A service's process from its environment to its end: the whole of a main.ts. Exits 1 where it cannot start. */
export async function runService<Schema extends z.ZodObject>(
  options: RunOptions<Schema>,
): Promise<void> {
  const { name, environment, startRefusal } = options
  const config = loadConfig(options.schema, environment)
  const { HOST: host, PORT: port, LOG_LEVEL: level } = config
  const logger = createLogger({ name, level })
  const service = await options
    .create({ config, clock: systemClock, logger, environment })
    .catch((error: unknown) => {
      const refusal = startRefusal?.(error)
      if (refusal === undefined) throw error
      process.stderr.write(`${refusal}\n`)
      return process.exit(1)
    })
  service.start?.()
  const { app, registry } = service
  await serve({
    app,
    registry,
    host,
    port,
    logger,
    // Not waited for: the application closes meanwhile, and `close` waits for what is left.
    onStopping: () => void service.stopping?.(),
    onStop: () => service.close(),
  })
}
