import { createPublicClient, http, type PublicClient, type Transport } from 'viem'

/** Reads take well under a second, 3 s on a busy relay; beyond this the ledger counts as unreachable. */
const READ_LIMIT_MS = 5_000

/** One more try bridges a dropped connection. More would hide an outage behind waiting. */
const READ_RETRIES = 1

/** Hedera's relay answers a send only after consensus, 3–8 s; twice that is a dead endpoint. */
const SEND_LIMIT_MS = 15_000

/** Reads in one request: half of what Hedera's relay takes at most, so that an answer stays small. */
const BATCH_READS_MAX = 50

/** A JSON-RPC client for reads. It connects to nothing yet. */
export function createReadingClient(rpcUrl: string): PublicClient {
  return createPublicClient({
    transport: gathered(rpcUrl, { timeout: READ_LIMIT_MS, retryCount: READ_RETRIES }),
  })
}

type HttpLimits = { readonly timeout: number; readonly retryCount: number }

/**
 * Sends a read at once while none is under way, and gathers those that come meanwhile into JSON-RPC batches: a lone call
 * waits for nobody, and under load a read costs half the CPU.
 */
function gathered(rpcUrl: string, limits: HttpLimits): Transport {
  const alone = http(rpcUrl, limits)
  const together = http(rpcUrl, { ...limits, batch: { batchSize: BATCH_READS_MAX, wait: 0 } })
  return (config) => {
    const [single, batched] = [alone(config), together(config)]
    let underWay = 0
    const request: typeof single.request = async (call, options) => {
      const { request: send } = underWay === 0 ? single : batched
      underWay += 1
      try {
        return await send(call, options)
      } finally {
        underWay -= 1
      }
    }
    return { ...single, request }
  }
}

/** A JSON-RPC client for sending, which never sends twice: a second send of taken bytes reads like a lost nonce. */
export function createSendingClient(rpcUrl: string): PublicClient {
  return createPublicClient({ transport: http(rpcUrl, { timeout: SEND_LIMIT_MS, retryCount: 0 }) })
}
