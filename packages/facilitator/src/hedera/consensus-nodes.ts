/** One consensus node: `host:port` of its gRPC service and its account. */
export type ConsensusNode = { readonly address: string; readonly accountId: string }

const NODE = /^([a-zA-Z0-9.-]+):(\d{1,5})=(\d+\.\d+\.\d+)$/

/**
 * Reads a list such as `127.0.0.1:50211=0.0.3,10.0.0.2:50211=0.0.4`; undefined where an entry is malformed. IPv6
 * addresses are refused: the ledger SDK splits an address at its first colon.
 */
export function parseConsensusNodes(text: string): readonly ConsensusNode[] | undefined {
  const nodes: ConsensusNode[] = []
  for (const entry of text.split(',').map((part) => part.trim())) {
    const [, host, port, accountId] = NODE.exec(entry) ?? []
    if (host === undefined || port === undefined || accountId === undefined) return undefined
    if (Number(port) < 1 || Number(port) > 65_535) return undefined
    nodes.push({ address: `${host}:${port}`, accountId })
  }
  return nodes
}
