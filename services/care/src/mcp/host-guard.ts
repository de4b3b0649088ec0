/** Names under which the machine itself is reached. */
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'] as const

/** The name in a Host header, without its port; undefined for anything that is none. */
function hostName(header: string): string | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[^:/@[\]\s]+)(?::\d{1,5})?$/i.exec(header)
  return match?.[1]?.toLowerCase()
}

/**
 * Whether a Host header names this service: a browser that was rebound to its address names another (C2). Names are
 * compared without ports, since a proxy or a container may listen on another one.
 */
export function createHostGuard(options: {
  readonly baseUrl: string
  /** Further names or `name:port`, e.g. those of a reverse proxy. */
  readonly allowedHosts: readonly string[]
}): (host: string | undefined) => boolean {
  const named = [new URL(options.baseUrl).host, ...options.allowedHosts, ...LOOPBACK]
  const allowed = new Set(named.map((host) => hostName(host)).filter((name) => name !== undefined))
  // Nearly every request of a process carries the same header; it is read once.
  let lastAllowed: string | undefined
  return (host) => {
    if (host !== undefined && host === lastAllowed) return true
    const name = host === undefined ? undefined : hostName(host)
    if (name === undefined || !allowed.has(name)) return false
    lastAllowed = host
    return true
  }
}
