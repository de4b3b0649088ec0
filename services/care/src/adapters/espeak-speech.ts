/**
 * Speech by the system's `espeak-ng` (C13): a separate program, since its licence is not ours; the sentence on stdin, since
 * other users can see arguments; one at a time, with a time limit.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Clock, systemClock } from '@tallystick/service-kit'
import { type Speech, SpeechUnavailable } from '../domain/speech.ts'
import { voiceFor } from '../domain/spoken-words.ts'

/** A sentence takes 20 ms; a run this long hangs. */
export const SPEECH_LIMIT_MS = 2_000
/** Sentences that may wait for the running one; a flood is refused rather than queued for minutes. */
export const SPEECH_WAITING_MAX = 32
/** The longest text that is spoken, characters: about five minutes of sound, 13 MB. */
export const SPEECH_CHARS_MAX = 4_000
/** RIFF header and one sample. */
const WAV_BYTES_MIN = 46

const runFile = promisify(execFile)

type EspeakOptions = {
  /** Full path of the program. */
  readonly program: string
  readonly clock?: Pick<Clock, 'after'>
}

/** Speaks through `espeak-ng`, one text at a time in the order in which they came. */
export function createEspeakSpeech(options: EspeakOptions): Speech {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  return {
    async speak(text, language) {
      const voice = voiceFor(language)
      if (voice === undefined) throw new SpeechUnavailable('no voice has that language')
      if (text.length > SPEECH_CHARS_MAX) throw new SpeechUnavailable('the text is too long')
      if (waiting >= SPEECH_WAITING_MAX) throw new SpeechUnavailable('too many texts are waiting')
      waiting += 1
      const mine = last.then(() => speakOne(options, { text, voice }))
      last = mine.catch(() => undefined)
      try {
        return await mine
      } finally {
        waiting -= 1
      }
    },
  }
}

type Utterance = { readonly text: string; readonly voice: string }

async function speakOne(options: EspeakOptions, utterance: Utterance): Promise<Uint8Array> {
  // A separate folder that only this user may enter: it briefly holds the sound of a private record.
  const folder = await mkdtemp(join(tmpdir(), 'care-speech-'))
  try {
    const file = join(folder, 'speech.wav')
    await runEspeak({ ...options, ...utterance, file })
    const sound = await readFile(file)
    if (sound.length < WAV_BYTES_MIN || sound.toString('latin1', 0, 4) !== 'RIFF')
      throw new SpeechUnavailable('espeak-ng wrote no sound')
    return sound
  } catch (error) {
    if (error instanceof SpeechUnavailable) throw error
    throw new SpeechUnavailable('espeak-ng failed', { cause: error })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** espeak-ng reads what stands between `[[` and `]]` as phonemes, and has no option that says otherwise. */
const withoutPhonemes = (text: string): string => text.replace(/\[(?=\[)/g, '[ ')

async function runEspeak(
  run: EspeakOptions & Utterance & { readonly file: string },
): Promise<void> {
  const { program, clock = systemClock, text, voice, file } = run
  const limit = new AbortController()
  const cancelLimit = clock.after(SPEECH_LIMIT_MS, () => limit.abort())
  const args = ['-v', voice, '-b', '1', '--stdin', '-w', file]
  const running = runFile(program, args, { signal: limit.signal, killSignal: 'SIGKILL' })
  const { stdin } = running.child
  // A program that ends before it has read everything breaks the pipe; its exit code says why.
  stdin?.on('error', () => undefined)
  stdin?.end(withoutPhonemes(text))
  await running.finally(cancelLimit)
}
