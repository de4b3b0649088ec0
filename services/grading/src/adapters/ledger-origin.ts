/** What checkpoints call this service's ledger: its address without a scheme, as C2SP recommends, and `ledger`. */
export function ledgerOrigin(baseUrl: string): string {
  const { host, pathname } = new URL(baseUrl)
  return `${host}${pathname.replace(/\/+$/, '')}/ledger`
}
