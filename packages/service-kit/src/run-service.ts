/**
 * From a configuration to a running process and back: building, listening with clear errors, and an orderly end on
 * SIGTERM, SIGINT or an uncaught exception (S6).
 */
import type { FastifyBaseLogger } from 'fastify'
import { collectDefaultMetrics, type Registry } from 'prom-client'
import type { z } from 'zod'
import { type Clock, systemClock } from './clock.ts'
import { type Environment, loadConfig } from './config.ts'
import { createLogger } from './logging.ts'
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
  /** Resolves with a sentence once the service lost what it must not go on without: the process says it, and ends with 1. */
  readonly lost?: Promise<string> | undefined
}

/** How long open requests get before their connections are cut. */
const DRAIN_LIMIT_MS = 8_000
/** The process ends this long after a signal, whatever hangs (S6). */
const EXIT_LIMIT_MS = 9_800

/** What to tell the person who started the process. */
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

/** Closes the application, then the service; requests still open after 8 s are cut off. */
export async function stopOrderly(
  service: Service,
  logger: FastifyBaseLogger,
  clock: Pick<Clock, 'after'> = systemClock,
): Promise<void> {
  // Not awaited: the application closes meanwhile, and `close` waits for the rest.
  void service.stopping?.()
  const cancelDrain = clock.after(DRAIN_LIMIT_MS, () => {
    logger.warn({ drainMs: DRAIN_LIMIT_MS }, 'requests still open were cut off')
    service.app.server.closeAllConnections()
  })
  try {
    await service.app.close()
  } finally {
    cancelDrain()
  }
  await service.close()
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
      stopped ??= stopOrderly(service, service.app.log)
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

/** A signal ends the process with 0 within 10 s, an uncaught exception or a loss with 1; a second signal ends it immediately. */
function exitOnSignals(
  stop: () => Promise<void>,
  logger: FastifyBaseLogger,
  lost: Service['lost'],
): void {
  let isStopping = false
  const end = (reason: string, code: number): void => {
    if (isStopping) process.exit(code === 0 ? 130 : code)
    isStopping = true
    logger.info({ reason }, 'stopping')
    setTimeout(() => {
      logger.error({ limitMs: EXIT_LIMIT_MS }, 'stopping took too long')
      process.exit(1)
    }, EXIT_LIMIT_MS).unref()
    stop().then(
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
  const endWhenLost = async (): Promise<void> => {
    const sentence = await lost
    if (sentence === undefined) return
    process.stderr.write(`${sentence}\n`)
    end(sentence, 1)
  }
  void endWhenLost()
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

/** What listening needs from a configuration. */
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
  /** A sentence for the operator if the service cannot start; undefined for a bug, which is thrown. */
  readonly startRefusal?: ((error: unknown) => string | undefined) | undefined
}

/** A service's process from environment to exit: everything a main.ts does. Exits 1 if the service cannot start. */
export async function runService<Schema extends z.ZodObject>(
  options: RunOptions<Schema>,
): Promise<void> {
  const { name, environment, startRefusal } = options
  const config = loadConfig(options.schema, environment)
  const logger = createLogger({ name, level: config.LOG_LEVEL })
  const service = await options
    .create({ config, clock: systemClock, logger, environment })
    .catch((error: unknown) => {
      const refusal = startRefusal?.(error)
      if (refusal === undefined) throw error
      process.stderr.write(`${refusal}\n`)
      return process.exit(1)
    })
  service.start?.()
  const address = { host: config.HOST, port: config.PORT }
  const { stop, url } = await listen(service, address).catch((error: unknown) => {
    process.stderr.write(`${listenMessage(error, config)}\n`)
    return process.exit(1)
  })
  exitOnSignals(stop, logger, service.lost)
  collectDefaultMetrics({ register: service.registry })
  logger.info({ url }, 'listening')
}
