import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ZodTypeProvider } from '@fastify/type-provider-zod'
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify'

/** Fastify with zod schemas. */
export type ServiceApp = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>
