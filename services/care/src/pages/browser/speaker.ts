/**
 * Speaks one record at a time through an audio element. If a record is corrected while it is being said, the sound is cut
 * off: a sentence that no longer holds is not finished.
 */

/** `blocked`: the browser first requires a user gesture; `voiceless`: there is nothing to say (again). */
type SpeakerState = 'silent' | 'speaking' | 'blocked' | 'muted' | 'voiceless'

type Utterance = { readonly uri: string; readonly sound: Blob }

export function createSpeaker(audio: HTMLAudioElement, onState: (state: SpeakerState) => void) {
  let waiting: Utterance[] = []
  let current: Utterance | undefined
  let isMuted = false
  let isSpeaking = false

  async function play(): Promise<void> {
    try {
      await audio.play()
    } catch (error) {
      // An AbortError comes from our own cutting off; the next sound is on its way.
      if (error instanceof DOMException && error.name === 'NotAllowedError') onState('blocked')
    }
  }
  function start(utterance: Utterance): void {
    current = utterance
    isSpeaking = true
    if (audio.src !== '') URL.revokeObjectURL(audio.src)
    audio.src = URL.createObjectURL(utterance.sound)
    if (isMuted) finish()
    else void play()
  }
  function finish(): void {
    isSpeaking = false
    const next = waiting.shift()
    if (next === undefined) onState(isMuted ? 'muted' : 'silent')
    else start(next)
  }
  function cutOff(): void {
    audio.pause()
    finish()
  }
  audio.addEventListener('playing', () => onState('speaking'))
  audio.addEventListener('ended', finish)
  audio.addEventListener('error', finish)

  return {
    /** Says this next, replacing whatever of the same record is queued or being said. */
    say(utterance: Utterance): void {
      waiting = waiting.filter(({ uri }) => uri !== utterance.uri)
      if (!isSpeaking || current?.uri === utterance.uri) start(utterance)
      else waiting.push(utterance)
    },
    /** Takes back what is queued or being said of this record. */
    retract(uri: string): void {
      waiting = waiting.filter((utterance) => utterance.uri !== uri)
      if (isSpeaking && current?.uri === uri) cutOff()
    },
    /** What is shown has no sound, so the last sound is not offered for it. */
    forget(): void {
      if (isSpeaking) return
      current = undefined
      onState('voiceless')
    },
    stop(): void {
      waiting = []
      if (isSpeaking) cutOff()
    },
    /** Says the last sound (again) on a user gesture, which browsers always allow. */
    again(): void {
      if (current === undefined) return
      isSpeaking = true
      audio.currentTime = 0
      void play()
    },
    mute(muted: boolean): void {
      isMuted = muted
      if (muted && isSpeaking) cutOff()
      else onState(muted ? 'muted' : 'silent')
    },
  }
}
