import { createPublicClient, http, type PublicClient } from 'viem'

/** Reads take well under a second, 3 s on a busy relay; beyond this the ledger counts as unreachable. */
const READ_LIMIT_MS = 5_000

/** One more try bridges a dropped connection. More would hide an outage behind waiting. */
const READ_RETRIES = 1

/** Hedera's relay answers a send only after consensus, 3–8 s; twice that is a dead endpoint. */
const SEND_LIMIT_MS = 15_000

/** A JSON-RPC client for reads. It connects to nothing yet. */
export function createReadingClient(rpcUrl: string): PublicClient {
  return createPublicClient({
    transport: http(rpcUrl, {
      timeout: READ_LIMIT_MS,
      retryCount: READ_RETRIES,
      ...(process.env['XB'] ? { batch: { batchSize: 50, wait: 0 } } : {}),
    }),
  })
}

/** A JSON-RPC client for sending, which never sends twice: a second send of taken bytes reads like a lost nonce. */
export function createSendingClient(rpcUrl: string): PublicClient {
  return createPublicClient({ transport: http(rpcUrl, { timeout: SEND_LIMIT_MS, retryCount: 0 }) })
}
