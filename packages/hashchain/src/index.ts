export { canonicalJson, type JsonValue } from './canonical-json.ts'
export {
  type Checkpoint,
  formatCheckpoint,
  type ParsedCheckpoint,
  parseCheckpoint,
} from './checkpoint.ts'
export {
  createKeyRing,
  type KeyRing,
  type ParsedKeyRing,
  parseKeyRing,
  SEAL_KEY_BYTES,
  type SealKey,
} from './key-ring.ts'
export {
  consistencyProof,
  inclusionProof,
  type LeafHashReader,
  verifyConsistency,
  verifyInclusion,
} from './merkle-proof.ts'
export {
  type CompactRange,
  type CompactRangeState,
  createCompactRange,
  emptyRootHash,
  HASH_BYTES,
  leafHash,
  nodeHash,
  rootOf,
  type TreeHead,
} from './merkle-tree.ts'
export {
  isSealed,
  type OpenedValue,
  openValue,
  SEAL_ALGORITHM,
  sealedKeyId,
  sealValue,
} from './seal.ts'
export { createNoteSigner, type NoteSigner, type OpenedNote, openNote } from './signed-note.ts'
export {
  GENESIS_PREV_HASH,
  hasLoneSurrogate,
  preimageHash,
  type VersionContent,
  versionHash,
  versionPreimage,
} from './version-chain.ts'
