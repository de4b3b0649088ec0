/** What checkpoints call this service's journals: its address without a scheme, as C2SP recommends, and its name. */
export function checkpointOrigin(options: {
  readonly baseUrl: string
  readonly serviceName: string
}): string {
  const { host, pathname } = new URL(options.baseUrl)
  return `${host}${pathname.replace(/\/+$/, '')}/${options.serviceName}`
}
