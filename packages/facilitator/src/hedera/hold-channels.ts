/** A client of the ledger SDK with the addresses of its nodes. */
type Hold = { readonly addresses: ReadonlySet<string>; readonly close: () => void }

/** Clients in use. */
const open = new Set<Hold>()
/** Clients that are let go of, but whose channels others may use. As many as a process starts and stops beside those. */
const letGo = new Set<Hold>()

const isShared = (hold: Hold): boolean =>
  [...open].some(({ addresses }) => [...addresses].some((address) => hold.addresses.has(address)))

/**
 * Holds the channels of a client. The SDK shares one per address in the whole process, and a client that is closed closes
 * those that it used: `close` is therefore called once none of its addresses belongs to a client in use. Returns how to
 * let go; a second call does nothing.
 */
export function holdChannels(addresses: readonly string[], close: () => void): () => void {
  const hold: Hold = { addresses: new Set(addresses), close }
  open.add(hold)
  return () => {
    if (!open.delete(hold)) return
    letGo.add(hold)
    for (const one of letGo) {
      if (isShared(one)) continue
      letGo.delete(one)
      one.close()
    }
  }
}
