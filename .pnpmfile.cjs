// Type-level libraries name the TypeScript compiler as an optional peer. It is in this workspace for development, so pnpm
// would put it, 31 MB, into every production install. Nothing imports it at run time. Needless once they drop the peer.
const TYPES_ONLY = ['viem', 'abitype', 'ox']

function readPackage(manifest) {
  if (TYPES_ONLY.includes(manifest.name)) {
    delete manifest.peerDependencies?.typescript
    delete manifest.peerDependenciesMeta?.typescript
  }
  return manifest
}

module.exports = { hooks: { readPackage } }
