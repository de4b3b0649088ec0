/** Versions that `/verify` replays. */
export const FILL_VERSIONS = 100_000
/** Chains that they belong to, in turn. */
export const FILL_CHAINS = 1_000

/** The version written at a place: a sentence such as clinicians write. */
export function fillRecord(place: number, chains = FILL_CHAINS) {
  const chain = place % chains
  return {
    patient: `patient-${Math.floor(chain / 10)}`,
    domain: `domain-${chain % 10}`,
    audience: 'user',
    value: `Take one tablet of amlodipine after breakfast, and drink a glass of water with it (${place}).`,
    authorId: 'dr-okafor',
    authorLabel: 'Dr Okafor',
  } as const
}
