/**
 * Speaks one record at a time through an audio element. What is corrected while it is being said is cut off: a sentence
 * that no longer holds is not finished.
 */

/**
 * @typedef {'silent' | 'speaking' | 'blocked' | 'muted' | 'voiceless'} SpeakerState `blocked`: the browser wants a
 *   person's gesture first; `voiceless`: there is nothing to say (again).
 */
/** @typedef {{ key: string, sound: Blob }} Utterance */

/**
 * @param {{ audio: HTMLAudioElement, onState: (state: SpeakerState) => void }} options
 */
export function createSpeaker({ audio, onState }) {
  /** @type {Utterance[]} */
  let waiting = []
  /** @type {Utterance | undefined} */
  let current
  let isMuted = false
  let isSpeaking = false

  async function play() {
    try {
      await audio.play()
    } catch (error) {
      // An AbortError comes of our own cutting off; the next sound is on its way.
      if (/** @type {Error} */ (error).name === 'NotAllowedError') onState('blocked')
    }
  }
  /** @param {Utterance} utterance */
  function start(utterance) {
    current = utterance
    isSpeaking = true
    if (audio.src !== '') URL.revokeObjectURL(audio.src)
    audio.src = URL.createObjectURL(utterance.sound)
    if (isMuted) finish()
    else void play()
  }
  function finish() {
    isSpeaking = false
    const next = waiting.shift()
    if (next === undefined) onState(isMuted ? 'muted' : 'silent')
    else start(next)
  }
  function cutOff() {
    audio.pause()
    finish()
  }
  audio.addEventListener('playing', () => onState('speaking'))
  audio.addEventListener('ended', finish)
  audio.addEventListener('error', finish)

  return {
    /**
     * Says this next, in place of whatever of the same key waits or is being said.
     *
     * @param {Utterance} utterance
     */
    say(utterance) {
      waiting = waiting.filter(({ key }) => key !== utterance.key)
      if (!isSpeaking || current?.key === utterance.key) start(utterance)
      else waiting.push(utterance)
    },
    /**
     * Takes back what of this key waits or is being said.
     *
     * @param {string} key
     */
    retract(key) {
      waiting = waiting.filter((utterance) => utterance.key !== key)
      if (isSpeaking && current?.key === key) cutOff()
    },
    /** What is shown has no sound: what was said last is not offered for it. */
    forget() {
      if (isSpeaking) return
      current = undefined
      onState('voiceless')
    },
    stop() {
      waiting = []
      if (isSpeaking) cutOff()
    },
    /** Says the last sound (again), by a person's gesture, which browsers always allow. */
    again() {
      if (current === undefined) return
      isSpeaking = true
      audio.currentTime = 0
      void play()
    },
    /** @param {boolean} muted */
    mute(muted) {
      isMuted = muted
      if (muted && isSpeaking) cutOff()
      else onState(muted ? 'muted' : 'silent')
    },
  }
}
