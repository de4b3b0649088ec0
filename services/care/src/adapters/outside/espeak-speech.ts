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
import { type Speech, SpeechUnavailable } from '../../domain/speech.ts'
import { SPOKEN_LANGUAGES } from '../../domain/spoken-rules.ts'
import { voiceFor } from '../../domain/spoken-words.ts'

/** A sentence takes 20 ms; a run this long hangs. */
export const SPEECH_LIMIT_MS = 2_000
/** Sentences that may wait for the running one; a flood is refused rather than queued for minutes. */
export const SPEECH_WAITING_MAX = 32
/** The longest text that is spoken, characters: about five minutes of sound, 13 MB. */
export const SPEECH_CHARS_MAX = 4_000
/** The list of voices takes 20 ms, on a busy machine a second; the service does not start before it. */
export const VOICES_LIMIT_MS = 5_000
/** RIFF header and one sample. */
const WAV_BYTES_MIN = 46

const runFile = promisify(execFile)

type EspeakOptions = {
  /** Full path of the program. */
  readonly program: string
  readonly clock?: Pick<Clock, 'after'>
}

/**
 * Speaks through `espeak-ng`, one text at a time in the order in which they came, with the voices that it has now; undefined if it
 * has none that any language here needs. Rejects with `SpeechUnavailable` if it does not say which.
 */
export async function openEspeakSpeech(options: EspeakOptions): Promise<Speech | undefined> {
  const installed = await readVoices(options)
  const hasVoice = (language: string): boolean => isInstalled(installed, voiceFor(language))
  return SPOKEN_LANGUAGES.some(hasVoice)
    ? { hasVoice, speak: createSpeak(options, hasVoice) }
    : undefined
}

function createSpeak(
  options: EspeakOptions,
  hasVoice: (language: string) => boolean,
): Speech['speak'] {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  return async (text, language) => {
    const voice = voiceFor(language)
    if (voice === undefined || !hasVoice(language))
      throw new SpeechUnavailable('no voice has that language')
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
  }
}

/** espeak-ng takes `en-gb` to its nearest voice of `en`. */
const isInstalled = (installed: ReadonlySet<string>, voice: string | undefined): boolean =>
  voice !== undefined && (installed.has(voice) || installed.has(voice.replace(/-.*/s, '')))

/** The second column of the table, and what stands in the brackets of the last: `(en 2)`. */
async function readVoices(options: EspeakOptions): Promise<ReadonlySet<string>> {
  try {
    const table = await runProgram({ ...options, args: ['--voices'], limitMs: VOICES_LIMIT_MS })
    const names = table
      .split('\n')
      .slice(1)
      .flatMap((line) => [
        line.trim().split(/\s+/)[1] ?? '',
        ...Array.from(line.matchAll(/\(([\w-]+) \d+\)/g), ([, name = '']) => name),
      ])
    return new Set(names.map((name) => name.toLowerCase()))
  } catch (error) {
    throw new SpeechUnavailable('espeak-ng does not list its voices', { cause: error })
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
  const { text, voice, file } = run
  const args = ['-v', voice, '-b', '1', '--stdin', '-w', file]
  await runProgram({ ...run, args, limitMs: SPEECH_LIMIT_MS, input: withoutPhonemes(text) })
}

/** What the program prints, within a limit of time. */
async function runProgram(
  run: EspeakOptions & {
    readonly args: readonly string[]
    readonly limitMs: number
    readonly input?: string
  },
): Promise<string> {
  const { program, clock = systemClock, args, limitMs, input = '' } = run
  const limit = new AbortController()
  const cancelLimit = clock.after(limitMs, () => limit.abort())
  const running = runFile(program, args, { signal: limit.signal, killSignal: 'SIGKILL' })
  const { stdin } = running.child
  // A program that ends before it has read everything breaks the pipe; its exit code says why.
  stdin?.on('error', () => undefined)
  stdin?.end(input)
  const { stdout } = await running.finally(cancelLimit)
  return stdout
}
