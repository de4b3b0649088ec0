/**
 * Puts into the API reference what the kit itself answers on every operation, once for all: a route names only what is
 * its own. Nothing here changes an answer.
 */
import type { FastifyContextConfig, FastifySchema } from 'fastify'
import { errorBody } from './error-answer.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route reads its bodies itself, so that the framework refuses none of them. */
    readonly takesOverBody?: boolean
  }
}

const described = (text: string) => errorBody.describe(text)

/** On any operation. */
const ANYWHERE = {
  400: described('What came is no HTTP request, or not one for this operation.'),
  408: described('The request did not come whole within its time.'),
  417: described('An expectation other than 100-continue.'),
  431: described('The headers are over 16 KiB.'),
  503: described('The process stops; another one, or this one after a moment, answers.'),
}

/** Where the framework reads a body. */
const WITH_BODY = {
  413: described('The body is over its limit.'),
  415: described('The body is declared as other than JSON.'),
}

/** Where the path has a parameter. */
const WITH_PARAMETER = { 414: described('A parameter in the path is too long.') }

const BODY_METHODS: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

type Documented = {
  /** Absent on a route that was registered without one, whatever the plugin's type says. */
  readonly schema?: FastifySchema | undefined
  readonly url: string
  readonly route: {
    readonly method: string | readonly string[]
    readonly config?: FastifyContextConfig | undefined
  }
}

/** A route's schema with the statuses that the kit may answer there; those that the route names itself stay as they are. */
export function withKitRefusals({ schema = {}, url, route }: Documented): FastifySchema {
  if (schema.hide === true) return schema
  const hasBody = [route.method].flat().some((method) => BODY_METHODS.has(method))
  const response = {
    ...ANYWHERE,
    ...(hasBody && route.config?.takesOverBody !== true ? WITH_BODY : {}),
    ...(url.includes(':') ? WITH_PARAMETER : {}),
    ...(schema.response as object | undefined),
  }
  return { ...schema, response }
}
