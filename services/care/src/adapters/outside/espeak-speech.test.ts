import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram, manualClock } from '@tallystick/service-kit'
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { SpeechUnavailable } from '../../domain/speech.ts'
import {
  openEspeakSpeech,
  SPEECH_CHARS_MAX,
  SPEECH_LIMIT_MS,
  SPEECH_WAITING_MAX,
  VOICES_LIMIT_MS,
} from './espeak-speech.ts'

const espeak = findProgram('espeak-ng', process.env['PATH'] ?? '')
const folder = mkdtempSync(join(tmpdir(), 'care-speech-test-'))
/** Where the sounds lie: what an ended run of these tests has left elsewhere is none of ours. */
const sounds = mkdtempSync(join(tmpdir(), 'care-speech-sounds-'))
beforeEach(() => void vi.stubEnv('TMPDIR', sounds))
afterAll(() => {
  vi.unstubAllEnvs()
  for (const made of [folder, sounds]) rmSync(made, { recursive: true })
})

const HEADER =
  'Pty Language       Age/Gender VoiceName          File                 Other Languages'
const ENGLISH = ' 2  en-gb           --/M      English            gmw/en               (en 2)'

/** A program in espeak-ng's place, which has these voices. */
const writeProgram = (name: string, script: string, voices = [ENGLISH]): string => {
  const file = join(folder, name)
  const list = [HEADER, ...voices].map((line) => `echo '${line}'`).join('\n')
  const text = `#!/bin/sh\nif [ "$1" = --voices ]; then\n${list}\nexit\nfi\n${script}\n`
  writeFileSync(file, text)
  chmodSync(file, 0o755)
  return file
}

const soundSeconds = (wav: Uint8Array): number => {
  const view = new DataView(wav.buffer, wav.byteOffset, wav.byteLength)
  return view.getUint32(40, true) / view.getUint32(28, true)
}

const openSpeech = async (options: Parameters<typeof openEspeakSpeech>[0]) => {
  const speech = await openEspeakSpeech(options)
  if (speech === undefined) throw new Error('no voice')
  return speech
}

const leftOver = (): string[] => readdirSync(sounds)

describe.skipIf(espeak === undefined)('C13: the system’s espeak-ng (skipped where absent)', () => {
  const program = espeak ?? ''

  it('speaks a sentence as WAV with a true header', async () => {
    const wav = await (await openSpeech({ program })).speak('Take two tablets with food.', 'en')
    expect(Buffer.from(wav).toString('latin1', 0, 4)).toBe('RIFF')
    const view = new DataView(wav.buffer, wav.byteOffset, wav.byteLength)
    expect(view.getUint32(4, true)).toBe(wav.length - 8)
    expect(view.getUint32(40, true)).toBe(wav.length - 44)
    expect(soundSeconds(wav)).toBeGreaterThan(1)
    expect(soundSeconds(wav)).toBeLessThan(5)
  })

  it('a longer sentence takes longer to say', async () => {
    const speech = await openSpeech({ program })
    const [short, long] = await Promise.all([
      speech.speak('Two tablets.', 'en'),
      speech.speak('Two tablets in the morning, and one more before the evening meal.', 'en'),
    ])
    expect(soundSeconds(long)).toBeGreaterThan(soundSeconds(short) + 1)
  })

  it('C45, A16: nothing in double brackets is taken for phonemes', async () => {
    const speech = await openSpeech({ program })
    const [said, ...written] = await Promise.all(
      ['Take five mg.', "Take [[f'aIv]] mg.", "Take [[[f'aIv]] mg."].map((text) =>
        speech.speak(text, 'en'),
      ),
    )
    for (const wav of written)
      expect(soundSeconds(wav)).toBeGreaterThan(soundSeconds(said ?? wav) + 0.3)
  })

  it('text that looks like options or markup is only spoken', async () => {
    const wav = await (await openSpeech({ program })).speak('-w /tmp/x --version <b>dose</b>', 'en')
    expect(soundSeconds(wav)).toBeGreaterThan(1)
  })
})

describe('the speech program', () => {
  it('gets the sentence on stdin, never as an argument', async () => {
    const program = writeProgram(
      'seen',
      `echo "$@" > ${folder}/arguments; cat > ${folder}/stdin; exit 3`,
    )
    const speech = await openSpeech({ program })
    await expect(speech.speak('a private word', 'en')).rejects.toThrow(SpeechUnavailable)
    expect(readFileSync(join(folder, 'arguments'), 'utf8')).not.toContain('private')
    expect(readFileSync(join(folder, 'stdin'), 'utf8')).toBe('a private word')
  })

  it('is run one at a time', async () => {
    const program = writeProgram(
      'busy',
      `mkdir ${folder}/running || touch ${folder}/overlap; cat > /dev/null; sleep 0.05; rmdir ${folder}/running; exit 1`,
    )
    const speech = await openSpeech({ program })
    await Promise.allSettled(['a', 'b', 'c', 'd'].map((text) => speech.speak(text, 'en')))
    expect(readdirSync(folder)).not.toContain('overlap')
  })

  it('is killed at its limit of 2 s, and leaves nothing', async () => {
    const program = writeProgram('hangs', 'exec sleep 600')
    const clock = manualClock(0)
    const speaking = (await openSpeech({ program, clock })).speak('hello', 'en')
    const outcome = Promise.allSettled([speaking])
    await expect.poll(() => clock.pendingCount()).toBe(1)
    clock.advanceMs(SPEECH_LIMIT_MS)
    expect(await outcome).toMatchObject([
      { status: 'rejected', reason: { name: 'SpeechUnavailable' } },
    ])
    expect(clock.pendingCount()).toBe(0)
    expect(leftOver()).toEqual([])
  })

  it('that fails or writes no sound is SpeechUnavailable', async () => {
    const failing = [
      writeProgram('fails', 'exit 1'),
      writeProgram('silent', 'cat > /dev/null'),
      writeProgram('noise', 'for last; do :; done; cat > /dev/null; echo noise > "$last"'),
    ]
    for (const program of failing)
      await expect((await openSpeech({ program })).speak('hello', 'en')).rejects.toThrow(
        SpeechUnavailable,
      )
    expect(leftOver()).toEqual([])
  })

  it('is spared texts that are too long or too many at once', async () => {
    const program = writeProgram('slow', 'cat > /dev/null; sleep 0.01; exit 1')
    const speech = await openSpeech({ program })
    await expect(speech.speak('a'.repeat(SPEECH_CHARS_MAX + 1), 'en')).rejects.toThrow('too long')
    const all = Array.from({ length: SPEECH_WAITING_MAX }, () => speech.speak('hello', 'en'))
    const results = Promise.allSettled(all)
    await expect(speech.speak('one more', 'en')).rejects.toThrow('waiting')
    await results
  })
})

describe('C37: the voices that are installed', () => {
  it('are asked for at the start: a language has the voice that the program lists, and no other', async () => {
    const speech = await openSpeech({ program: writeProgram('english', 'exit 1') })
    expect(['en', 'en-GB', 'en-us'].map((language) => speech.hasVoice(language))).toEqual([
      true,
      true,
      true,
    ])
    expect(['de', 'it', 'ar', 'pt', ''].map((language) => speech.hasVoice(language))).toEqual(
      Array(5).fill(false),
    )
    await expect(speech.speak('Zwei Tabletten.', 'de')).rejects.toThrow('no voice')
  })

  it('a voice may be listed by its other name, or only by its language', async () => {
    const named = ' 5  fr-be           --/M      French             roa/fr-BE            (fr 8)'
    const plain = ' 5  it              --/M      Italian            roa/it'
    const speech = await openSpeech({ program: writeProgram('two', 'exit 1', [named, plain]) })
    expect(['fr', 'it-CH', 'en'].map((language) => speech.hasVoice(language))).toEqual([
      true,
      true,
      false,
    ])
  })

  it('without one of any language there is no speech', async () => {
    expect(await openEspeakSpeech({ program: writeProgram('none', 'exit 1', []) })).toBeUndefined()
  })

  it('a program that hangs is killed at the limit of 5 s, and one that fails or is not there is SpeechUnavailable', async () => {
    const hanging = join(folder, 'hanging')
    writeFileSync(hanging, '#!/bin/sh\nexec sleep 600\n')
    chmodSync(hanging, 0o755)
    const clock = manualClock(0)
    const outcome = Promise.allSettled([openEspeakSpeech({ program: hanging, clock })])
    await expect.poll(() => clock.pendingCount()).toBe(1)
    clock.advanceMs(VOICES_LIMIT_MS)
    expect(await outcome).toMatchObject([
      { status: 'rejected', reason: { name: 'SpeechUnavailable' } },
    ])
    const failing = join(folder, 'failing')
    writeFileSync(failing, '#!/bin/sh\nexit 1\n')
    chmodSync(failing, 0o755)
    for (const program of [failing, join(folder, 'absent')])
      await expect(openEspeakSpeech({ program })).rejects.toThrow(SpeechUnavailable)
  })

  it.skipIf(espeak === undefined)('of this machine are those of all nine languages', async () => {
    const speech = await openSpeech({ program: espeak ?? '' })
    const languages = ['en', 'ar', 'de', 'es', 'fr', 'it', 'nl', 'pl', 'tr']
    expect(languages.filter((language) => !speech.hasVoice(language))).toEqual([])
  })
})
