/** One version to be written; chains are written in the order of this list. */
export type SampleVersion = {
  readonly patient: string
  readonly domain: string
  readonly audience?: 'assistant'
  readonly value: string
  readonly authorId: string
  readonly authorLabel: string
  /** Days from the writing to the review date; below zero, the record is stale at once. */
  readonly staleAfterDays?: number
  readonly priority?: number
}

const doctor = { authorId: 'dr-osei', authorLabel: 'Dr Osei' }
const nurse = { authorId: 'nurse-lindqvist', authorLabel: 'Nurse Lindqvist' }
const physio = { authorId: 'physio-amari', authorLabel: 'your physiotherapist Amari' }

/**
 * A few patients under pseudonyms: a dose that was corrected, advice that is past its review date, and two notes that
 * only an assistant may read.
 */
export const sampleRecords: readonly SampleVersion[] = [
  {
    patient: 'heron',
    domain: 'medication',
    value: 'Take one tablet of lisinopril 10 mg at breakfast.',
    ...doctor,
    staleAfterDays: 90,
    priority: 1,
  },
  {
    patient: 'heron',
    domain: 'medication',
    value: 'Take one tablet of lisinopril 20 mg at breakfast.',
    ...doctor,
    staleAfterDays: 90,
    priority: 1,
  },
  {
    patient: 'heron',
    domain: 'appointments',
    value: 'Your next visit to the clinic is on Thursday at ten.',
    ...nurse,
    staleAfterDays: 14,
  },
  {
    patient: 'heron',
    domain: 'care-plan',
    audience: 'assistant',
    value: 'Early signs of memory loss are being looked into; the family has not been told yet.',
    ...doctor,
  },
  {
    patient: 'wren',
    domain: 'exercise',
    value: 'Walk for ten minutes after lunch, with the frame.',
    ...physio,
    staleAfterDays: -3,
  },
  {
    patient: 'wren',
    domain: 'diet',
    value: 'No grapefruit while you take the new tablets.',
    ...nurse,
    priority: 0.8,
  },
  {
    patient: 'wren',
    domain: 'diet',
    value: 'No grapefruit and no grapefruit juice while you take the new tablets.',
    ...nurse,
    priority: 0.8,
  },
  {
    patient: 'wren',
    domain: 'contacts',
    value: 'If you feel dizzy, sit down and ring the day line before you take anything.',
    ...nurse,
  },
  {
    patient: 'fox',
    domain: 'wound-care',
    value: 'Keep the dressing dry; the nurse changes it on Monday and Friday.',
    ...nurse,
    staleAfterDays: 7,
  },
  {
    patient: 'fox',
    domain: 'risk',
    audience: 'assistant',
    value: 'Fell twice this month; ask every morning whether standing up makes the room turn.',
    ...physio,
    priority: 0.9,
  },
]
