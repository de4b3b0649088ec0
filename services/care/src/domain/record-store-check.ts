import type { NewRecord } from './care-record.ts'
import { isRecordName } from './record-uri.ts'

/** Throws a TypeError for a record that no version may hold; routes refuse such fields before they come here. */
export function requireStorable(record: NewRecord): void {
  if (!isRecordName(record.patient) || !isRecordName(record.domain))
    throw new TypeError(
      'patient and domain are well-formed, not empty and hold neither "/" nor "|"',
    )
  const texts = [record.value, record.authorId, record.authorLabel, record.staleAfter ?? '']
  if (!texts.every((text) => text.isWellFormed()))
    throw new TypeError('a record holds no lone surrogate')
  if (record.priority !== undefined && !Number.isFinite(record.priority))
    throw new TypeError('a priority is a finite number')
}
