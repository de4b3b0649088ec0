/**
 * One example for each operation with input, as the reference shows it. They belong together: the write makes the record
 * that the others are about, and examples.test.ts runs them in that order.
 */
export const uriExample = 'care://quill/sleep'

export const writeExample = {
  patient: 'quill',
  domain: 'sleep',
  value: 'Sleeps from ten to six; wakes once.',
  authorId: 'dr-moss',
  authorLabel: 'Dr Moss',
  staleAfter: '2030-01-01',
}

/** Asks what the revision without sessions can do. */
export const discoverExample = {
  jsonrpc: '2.0',
  id: 1,
  method: 'server/discover',
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
}

export const initializeExample = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'example', version: '1.0.0' },
  },
}
