// Type-level libraries name the TypeScript compiler as an optional peer. It is in this workspace for development, so pnpm
// would put it, 31 MB, into every production install. Nothing imports it at run time. Needless once they drop the peer.
const TYPES_ONLY = ['viem', 'abitype', 'ox']

// Tests let its x402 client judge ours. That client needs @x402 alone; the rest is a whole platform.
const JUDGE = 'agents'

function readPackage(manifest) {
  if (manifest.name === JUDGE) {
    const { '@x402/core': core, '@x402/evm': evm } = manifest.peerDependencies
    manifest.dependencies = { '@x402/core': core, '@x402/evm': evm }
    manifest.peerDependencies = {}
    manifest.peerDependenciesMeta = {}
  }
  if (TYPES_ONLY.includes(manifest.name)) {
    delete manifest.peerDependencies?.typescript
    delete manifest.peerDependenciesMeta?.typescript
  }
  return manifest
}

module.exports = { hooks: { readPackage } }
