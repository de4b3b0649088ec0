export { canonicalJson } from './canonical-json.ts'
export {
  createNoteSigner,
  formatCheckpoint,
  openCheckpoint,
  openNote,
  parseCheckpoint,
} from './checkpoint.ts'
export { isCosignatureKey, openCosignature } from './cosignature.ts'
export {
  consistencyProof,
  consistencyRanges,
  inclusionProof,
  inclusionRanges,
  type LeafRange,
  verifyConsistency,
  verifyInclusion,
} from './merkle-proof.ts'
export {
  type CompactRange,
  computeRoot,
  createCompactRange,
  HASH_BYTES,
  leafHash,
  nodeHash,
  preimageHash,
  type TreeHead,
} from './merkle-tree.ts'
export {
  createKeyRing,
  isSealed,
  type KeyRing,
  openValue,
  parseKeyRing,
  SEAL_ALGORITHM,
  type SealingKey,
  sealedKeyId,
  sealHeader,
  sealValue,
} from './seal.ts'
export { GENESIS_PREV_HASH, versionHash, versionPreimage } from './version-chain.ts'
export { formatWitnessRequest, readCosignatures } from './witness.ts'
