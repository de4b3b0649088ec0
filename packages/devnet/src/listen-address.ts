import { isIPv6 } from 'node:net'

/** Where what listens on `host` is reached: a wildcard is no address to connect to. */
export function reachableHost(host: string): string {
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
}

/** `host:port` as it stands in a URL: an IPv6 address in brackets. */
export function hostAndPort(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}
