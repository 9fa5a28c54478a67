import type { Signal } from '@callboard/contract';

interface Tone {
  pitch: number;
  /** After the beginning of the sound, in seconds. */
  at: number;
  lasts: number;
}

/** Told apart without words: rising for a call, falling and low for a failure, one soft chord for what is finished. */
const SOUNDS: Readonly<Record<Signal, readonly Tone[]>> = {
  waiting: [
    { pitch: 660, at: 0, lasts: 0.12 },
    { pitch: 880, at: 0.15, lasts: 0.12 },
  ],
  failed: [
    { pitch: 392, at: 0, lasts: 0.2 },
    { pitch: 262, at: 0.22, lasts: 0.35 },
  ],
  finished: [
    { pitch: 523, at: 0, lasts: 0.4 },
    { pitch: 784, at: 0, lasts: 0.4 },
  ],
};

/** Plays the sound of a signal. A page without a click so far stays silent. */
export function playSound(signal: Signal): void {
  if (typeof AudioContext === 'undefined') return;
  const audio = new AudioContext();
  const volume = audio.createGain();
  volume.gain.value = 0.08;
  volume.connect(audio.destination);
  for (const { pitch, at, lasts } of SOUNDS[signal]) {
    const tone = audio.createOscillator();
    tone.frequency.value = pitch;
    tone.connect(volume);
    tone.start(audio.currentTime + at);
    tone.stop(audio.currentTime + at + lasts);
  }
  setTimeout(() => void audio.close(), 1_500);
}
