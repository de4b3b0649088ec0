import { connect } from 'node:net'
import type { Clock } from '@tallystick/service-kit'

/** A TCP connection to a node that is up takes well under this, also across an ocean. */
const CONNECT_LIMIT_MS = 2_000

/** A node that answered within this time is not asked again before the next submission. */
const PROVEN_MS = 10_000

/**
 * Whether consensus nodes take connections. Asked before a submission, because the ledger SDK cannot say afterwards whether
 * bytes were sent: a node that is down must be a definite "nothing happened".
 */
export type NodeProbe = {
  isReachable(address: string): Promise<boolean>
  /** Notes that a node has just answered. */
  proven(address: string): void
  /** Notes that a node has just failed to answer. */
  doubted(address: string): void
}

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

/** Returns a probe that connects to a node unless it answered within the last ten seconds. */
export function createNodeProbe(clock: Clock): NodeProbe {
  const provenAtMs = new Map<string, number>()
  return {
    async isReachable(address) {
      const atMs = provenAtMs.get(address)
      if (atMs !== undefined && clock.unixMs() - atMs < PROVEN_MS) return true
      const isUp = await canConnect(address, clock)
      if (isUp) provenAtMs.set(address, clock.unixMs())
      return isUp
    },
    proven: (address) => void provenAtMs.set(address, clock.unixMs()),
    doubted: (address) => void provenAtMs.delete(address),
  }
}
