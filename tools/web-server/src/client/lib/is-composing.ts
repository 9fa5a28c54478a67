/** The key code of a key that an input method handles. Deprecated, but all that Safari tells. */
const HANDLED_BY_INPUT_METHOD = 229;

/**
 * Whether a key belongs to the composition of a text (Japanese, Chinese, an accent): Enter then takes a word and sends nothing.
 * Safari ends the composition before it tells of the Enter that ended it, so `isComposing` is false there.
 */
export const isComposing = (event: Pick<KeyboardEvent, 'isComposing' | 'keyCode'>): boolean =>
  event.isComposing || event.keyCode === HANDLED_BY_INPUT_METHOD;
