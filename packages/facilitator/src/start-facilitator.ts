import { listeningUrl, systemClock } from '@tallystick/service-kit'
import { type BuildFacilitatorOptions, buildFacilitator } from './build-facilitator.ts'

export type StartFacilitatorOptions = Omit<BuildFacilitatorOptions, 'clock'> & {
  /** The system's clock by default; transfers are judged by wall time. */
  readonly clock?: BuildFacilitatorOptions['clock']
  /** Loopback by default. */
  readonly host?: string
  /** A free port by default. */
  readonly port?: number
}

/** A facilitator that listens, inside the caller's process. */
export type RunningFacilitator = { readonly url: string; stop(): Promise<void> }

/**
 * Starts a facilitator in this process, for tests, e2e and local stacks; it handles no signals. Rejects where the port is
 * taken or the key cannot be read.
 */
export async function startFacilitator(
  options: StartFacilitatorOptions,
): Promise<RunningFacilitator> {
  const { clock = systemClock, host = '127.0.0.1', port = 0 } = options
  const { app, hedera } = await buildFacilitator({ ...options, clock })
  try {
    await app.listen({ host, port })
  } catch (error) {
    hedera.close()
    throw error
  }
  return {
    url: listeningUrl(app),
    async stop() {
      await app.close()
      hedera.close()
    },
  }
}
