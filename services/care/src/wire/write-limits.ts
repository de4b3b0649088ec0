/**
 * The limits of a write. The service refuses every wrong write alike (C15), so the clinician's page checks them itself, to say
 * which field is too long. Pure: the browser runs this file too.
 */

/** Longest name, id or label of a record, bytes of UTF-8: a line that a person reads. */
export const TEXT_BYTES_MAX = 256

/** Largest body of `POST /write`, bytes. */
export const WRITE_BODY_BYTES_MAX = 262_144

/** How far a signed write's timestamp may be from the service's clock, in seconds either way. */
export const WRITE_SKEW_SECONDS_MAX = 300

/** A signed write that is sent again within this time is recognised, and answered as before; milliseconds. */
export const WRITE_KNOWN_MS = WRITE_SKEW_SECONDS_MAX * 1_000
