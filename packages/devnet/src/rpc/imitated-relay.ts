/** The relay whose answers the JSON-RPC edge gives, unless told to answer as those before 0.79. */
export const IMITATED_RELAY = {
  repository: 'https://github.com/hiero-ledger/hiero-json-rpc-relay',
  version: '0.80.0-SNAPSHOT',
  commit: '8126956979606a8f000b71fdcbe9a1c91c9b70f6',
}

/**
 * Where the edge answers otherwise, and why that is allowed: a method, or a field of its answer. e2e/src/official-relay.test.ts
 * compares everything else.
 */
export const ALLOWED_DIFFERENCES: Readonly<Record<string, string>> = {
  web3_clientVersion: 'Each names itself.',
  'block.timestamp':
    'The edge shows block.timestamp of the EVM; the relay the second in which the mirror node’s range of the block begins, which under traffic is up to two seconds later.',
  'log.blockTimestamp': 'The same.',
  'block.size': 'The size of a record file, which a ledger without record files does not have.',
  'block.receiptsRoot':
    'The relay computes it from what it shows; nobody can check it on the network either.',
  'block.transactionsRoot': 'The same: the relay shows the hash of the block.',
  'block.stateRoot': 'The relay shows a constant.',
  'eth_sendRawTransaction of bytes that are no transaction': 'The words are their decoders’.',
  'eth_getTransactionCount at one of the newest five blocks':
    'The relay shows the newest nonce; the edge the nonce at that block.',
  'a price one tinybar too low':
    'The relay lets it pass and answers with a hash that never gets a receipt; the edge refuses it.',
  'gas of a new account':
    'A transaction needs it, but the creation itself is not charged: anvil counts what the EVM does.',
}
