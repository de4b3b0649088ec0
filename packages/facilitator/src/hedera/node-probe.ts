import { connect } from 'node:net'
import type { Clock } from '@tallystick/service-kit'

/** A TCP connection to a live node takes well under this, even across an ocean. */
const CONNECT_LIMIT_MS = 2_000

/** A node that answered this recently is not probed before the next submission. */
const PROVEN_MS = 10_000

export type NodeProbe = ReturnType<typeof createNodeProbe>

function canConnect(address: string, clock: Clock): Promise<boolean> {
  const [host = '', port = ''] = address.split(':')
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port) })
    const finish = (isUp: boolean): void => {
      cancel()
      socket.destroy()
      resolve(isUp)
    }
    const cancel = clock.after(CONNECT_LIMIT_MS, () => finish(false))
    socket.once('connect', () => finish(true))
    socket.once('error', () => finish(false))
  })
}

/**
 * Returns a probe that tells whether consensus nodes accept connections. It connects to a node unless the node answered
 * within the last ten seconds. It is used before a submission, because the ledger SDK cannot say afterwards whether bytes
 * were sent, and a node that is down must be a definite "nothing happened".
 */
export function createNodeProbe(clock: Clock) {
  const provenAtMs = new Map<string, number>()
  /** Records that a node has just answered. */
  const proven = (address: string): void => void provenAtMs.set(address, clock.unixMs())
  return {
    async isReachable(address: string): Promise<boolean> {
      const atMs = provenAtMs.get(address)
      if (atMs !== undefined && clock.unixMs() - atMs < PROVEN_MS) return true
      const isUp = await canConnect(address, clock)
      if (isUp) proven(address)
      return isUp
    },
    proven,
    /** Records that a node has just failed to answer. */
    doubted: (address: string): void => void provenAtMs.delete(address),
  }
}
