/** The port behind which text becomes sound; adapters/espeak-speech.ts implements it. */
export type Speech = {
  /** A WAV file with the text spoken. Rejects with `SpeechUnavailable`. */
  speak(text: string): Promise<Uint8Array>
}

/** The speech program failed, was cut off at its time limit, or too much was asked of it at once. */
export class SpeechUnavailable extends Error {
  override readonly name = 'SpeechUnavailable'
}
