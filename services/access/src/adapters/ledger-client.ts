import { createPublicClient, http, type PublicClient } from 'viem'

/** Hedera's relay answers a send only after consensus, 3–8 s; twice that is a dead endpoint. */
const RPC_LIMIT_MS = 15_000

/** One more try bridges a dropped connection. More would hide an outage behind waiting. */
const RPC_RETRIES = 1

/** A JSON-RPC client of the ledger. It connects to nothing yet. */
export function createLedgerClient(rpcUrl: string): PublicClient {
  return createPublicClient({
    transport: http(rpcUrl, { timeout: RPC_LIMIT_MS, retryCount: RPC_RETRIES }),
  })
}
