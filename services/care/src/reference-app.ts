import { manualClock, type ServiceApp } from '@tallystick/service-kit'
import { buildCareApp } from './app.ts'
import type { SessionStore } from './domain/session-store.ts'
import { createMcpEndpoint } from './mcp/mcp-endpoint.ts'

/** Stands in for what routes do: a reference is made from their schemas alone. */
function notCalled(): never {
  throw new Error('the API reference is made without calling any route')
}

const noSessions: SessionStore = {
  restore: async () => ({ sessions: [], frames: [], published: new Map() }),
  save: () => undefined,
  flush: async () => undefined,
  close: async () => undefined,
}

/** The application without anything behind it, for its OpenAPI document. Nothing opens, and nothing is left to close. */
export async function buildReferenceApp(): Promise<ServiceApp> {
  const baseUrl = 'http://localhost:3002'
  const serviceName = 'care'
  const clock = manualClock(0)
  const store = {
    append: notCalled,
    noteSubscribers: notCalled,
    latest: notCalled,
    version: notCalled,
    head: notCalled,
    heads: notCalled,
    changesSince: notCalled,
    verify: notCalled,
    checkpoint: notCalled,
    verifierKey: notCalled,
    exportLines: notCalled,
    sealing: notCalled,
    close: notCalled,
  }
  const tokens = { verify: notCalled }
  const mcp = await createMcpEndpoint({
    store,
    tokens,
    clock,
    baseUrl,
    serviceName,
    sessions: noSessions,
    random: notCalled,
    version: 'reference',
  })
  return buildCareApp({
    store,
    clock,
    baseUrl,
    serviceName,
    resource: `${baseUrl}/mcp`,
    metadataUrl: baseUrl,
    authorizationServers: [],
    verifySignature: notCalled,
    verifyToken: notCalled,
    publish: notCalled,
    audit: { add: notCalled },
    isoNow: notCalled,
    verifier: { verify: notCalled },
    atRestLine: notCalled,
    addMcpRoutes: (app) => mcp.addRoutes(app),
    sessions: notCalled,
    pages: [],
  })
}
