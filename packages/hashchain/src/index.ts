export type { CheckpointSigner, JournalStore, TreeHead } from './journal.ts'
export type { ChainedVersion, ChainVerdict } from './version-chain.ts'
