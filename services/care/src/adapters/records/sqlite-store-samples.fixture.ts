import type { NewRecord } from '../../domain/care-record.ts'

export const TEST_SEED = new Uint8Array(32).fill(9)
export const TEST_ORIGIN = 'care.test/care'

export const storeRecord = (over: Partial<NewRecord> = {}): NewRecord => ({
  patient: 'ann',
  domain: 'tea',
  audience: 'user',
  value: 'Ann takes her tea without sugar.',
  authorId: 'dr-osei',
  authorLabel: 'Dr Osei',
  ...over,
})
